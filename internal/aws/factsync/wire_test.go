package factsync_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kerf-sh/kerf/internal/aws/factsync"
	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
	"github.com/kerf-sh/kerf/internal/sim/awssim"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// known returns the embedded facts without some types and without a region, as an older file would be.
func known(t *testing.T, without []string, region string) (full, old *ec2facts.Facts) {
	t.Helper()
	full, err := ec2facts.Load()
	if err != nil {
		t.Fatal(err)
	}
	types := slices.DeleteFunc(slices.Clone(full.Types), func(x ec2facts.Type) bool { return slices.Contains(without, x.Name) })
	bare, err := ec2facts.New(full.Sources, types, nil)
	if err != nil {
		t.Fatal(err)
	}
	old, err = bare.With(ec2facts.Update{Region: region, Date: "2020-01-01", Currency: "USD", OnDemand: map[string]int64{"m5.large": 1, "m4.large": 7}})
	if err != nil {
		t.Fatal(err)
	}
	return full, old
}

var day = time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)

func TestFetchLearnsARegion(t *testing.T) {
	sim, aws := start(t, awssim.Options{World: world.Options{Region: "eu-west-1", Types: []string{"m5.large", "m5.metal", "c5.large", "m8g.large"}}})
	sim.World.SetSpotPrice("m5.large", "eu-west-1b", 43210)
	full, old := known(t, []string{"m8g.large"}, "eu-west-1")

	got, report, err := factsync.Fetch(t.Context(), aws.EC2, aws.Pricing, old, "eu-west-1", day)
	if err != nil {
		t.Fatal(err)
	}
	if report.Types != 4 || report.NewTypes != 1 || report.Offered != 4 || report.OnDemand != 4 || report.Spot == 0 || len(report.Notes)+len(report.Skipped) > 0 {
		t.Errorf("report: %+v", report)
	}
	m8g, ok := got.Type("m8g.large")
	want, _ := full.Type("m8g.large")
	// What EC2 does not tell can't be learned.
	unlearnable := cmpopts.IgnoreFields(ec2facts.Type{}, "GuestMemoryMiB", "Trunking", "BranchENIs", "EKSMaxPods")
	if diff := cmp.Diff(want, m8g, unlearnable, cmpopts.EquateEmpty()); !ok || diff != "" {
		t.Errorf("m8g.large (-facts +learned):\n%s", diff)
	}
	if m5, _ := got.Type("m5.large"); m5.GuestMemoryMiB != 7811 {
		t.Error("what was measured of m5.large is lost")
	}
	zones, basis := got.Zones("eu-west-1")
	wantZones, _ := full.Zones("eu-west-1")
	if diff := cmp.Diff(wantZones, zones); diff != "" || basis != ec2facts.Exact {
		t.Errorf("zones (-facts +learned), %s:\n%s", basis, diff)
	}
	offered, _ := got.Offerings("eu-west-1")
	wantOffered, _ := full.Offerings("eu-west-1")
	if diff := cmp.Diff(wantOffered["m8g.large"], offered["m8g.large"]); diff != "" || len(offered) != 4 {
		t.Errorf("%d types offered; m8g.large (-facts +learned):\n%s", len(offered), diff)
	}
	od := got.OnDemand("eu-west-1").Prices
	if p := od["m5.large"]; p != (ec2facts.Price{MicroUSD: 107000, Basis: ec2facts.Exact, Date: "2026-09-01"}) {
		t.Errorf("m5.large costs %+v", p)
	}
	if p := od["m4.large"]; p != (ec2facts.Price{MicroUSD: 7, Basis: ec2facts.Exact, Date: "2020-01-01"}) {
		t.Errorf("m4.large, which the region no longer has, costs %+v", p)
	}
	if p, _ := got.Spot("eu-west-1", "eu-west-1b", "m5.large"); p.MicroUSD != 43210 || p.Basis != ec2facts.Exact {
		t.Errorf("m5.large costs %+v as spot", p)
	}
	if s := got.Sources[len(got.Sources)-1]; s.Part != "live eu-west-1" || s.Date != "2026-09-01" || !strings.Contains(s.Origin, "spot prices") {
		t.Errorf("source: %+v", s)
	}
	var file bytes.Buffer
	if err := got.Encode(&file); err != nil {
		t.Fatal(err)
	}
	if again, err := ec2facts.Decode(&file); err != nil {
		t.Errorf("the file can't be read: %v", err)
	} else if p := again.OnDemand("eu-west-1").Prices["m8g.large"]; p != od["m8g.large"] {
		t.Errorf("read back, m8g.large costs %+v, not %+v", p, od["m8g.large"])
	}
	if _, ok := old.Type("m8g.large"); ok {
		t.Error("the known facts were changed")
	}
}

func TestPricesThatCannotBeHadStay(t *testing.T) {
	sim, aws := start(t, awssim.Options{World: world.Options{Types: []string{"m5.large"}}})
	sim.World.AddFault(world.Fault{Kind: world.FaultThrottle, Service: "ec2", Operation: "DescribeSpotPriceHistory"})
	full, _ := known(t, nil, "x")
	before, _ := full.Spot("us-east-1", "us-east-1a", "m5.large")
	got, report, err := factsync.Fetch(t.Context(), aws.EC2, aws.Pricing, full, "us-east-1", day)
	if err != nil {
		t.Fatal(err)
	}
	// One type has no bare-metal sibling, so the price list is half empty and not taken either.
	if len(report.Notes) != 2 || report.OnDemand != 0 || report.Spot != 0 {
		t.Errorf("report: %+v", report)
	}
	if p := got.OnDemand("us-east-1").Prices["m5.large"]; p.MicroUSD != 96000 || p.Date != "2026-07-20" {
		t.Errorf("m5.large costs %+v", p)
	}
	if p, _ := got.Spot("us-east-1", "us-east-1a", "m5.large"); p != before {
		t.Errorf("m5.large costs %+v as spot, before %+v", p, before)
	}
	if len(got.Types) != len(full.Types) {
		t.Errorf("%d of %d types are left", len(got.Types), len(full.Types))
	}
}

func TestWithoutTypesNothingIsWritten(t *testing.T) {
	for _, operation := range []string{"DescribeInstanceTypes", "DescribeInstanceTypeOfferings", "DescribeAvailabilityZones"} {
		sim, aws := start(t, awssim.Options{World: world.Options{Types: []string{"m5.large"}}})
		sim.World.AddFault(world.Fault{Kind: world.FaultThrottle, Service: "ec2", Operation: operation})
		full, _ := known(t, nil, "x")
		if got, _, err := factsync.Fetch(t.Context(), aws.EC2, aws.Pricing, full, "us-east-1", day); err == nil || got != nil {
			t.Errorf("%s throttled: error %v", operation, err)
		}
	}
}
