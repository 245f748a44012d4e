package instancetype_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kerf-sh/kerf/internal/aws/instancetype"
	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
	"github.com/kerf-sh/kerf/internal/sim/awssim"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// What EC2 tells of a type must be what the facts say of it, through the real client: nothing is lost on the way.
func TestEveryDescriptionComesThroughWhole(t *testing.T) {
	_, aws := start(t, awssim.Options{})
	facts, err := ec2facts.Load()
	if err != nil {
		t.Fatal(err)
	}
	d := instancetype.NewDiscovery(aws.EC2, facts, nil)
	if err := d.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := d.Snapshot()
	if len(s.Types) < 1200 {
		t.Errorf("%d types", len(s.Types))
	}
	if len(s.Skipped) > 0 {
		t.Errorf("skipped: %v", s.Skipped)
	}
	offered, _ := facts.Offerings("us-east-1")
	for i := range s.Types {
		got := &s.Types[i]
		want, _ := facts.Type(got.Name)
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(ec2facts.Accelerator{}, "Maker"), cmpopts.IgnoreFields(ec2facts.EBS{}, "Cards"), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-facts +EC2):\n%s", got.Name, diff)
			if t.Failed() && i > 20 {
				break
			}
		}
		if diff := cmp.Diff(offered[got.Name], s.Zones[i]); diff != "" {
			t.Errorf("zones of %s (-facts +EC2):\n%s", got.Name, diff)
		}
	}
	if _, ok := s.Find("mac2.metal"); ok {
		t.Error("a Mac passed the filters")
	}
	if i, ok := s.Find("m5.large"); !ok || s.Types[i].Name != "m5.large" {
		t.Errorf("m5.large is at %d, %v", i, ok)
	}
}

func TestRefreshKeepsWhatItHas(t *testing.T) {
	s, aws := start(t, awssim.Options{World: world.Options{Types: []string{"m5.large", "c5.large"}}})
	now := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	d := instancetype.NewDiscovery(aws.EC2, nil, func() time.Time { return now })
	fault := s.World.AddFault(world.Fault{Kind: world.FaultThrottle, Service: "ec2", Operation: "DescribeInstanceTypeOfferings"})
	if err := d.Refresh(t.Context()); cloud.ClassOf(err) != cloud.Throttled || d.Snapshot() != nil {
		t.Fatalf("throttled: %v, snapshot %v", err, d.Snapshot())
	}
	s.World.RemoveFault(fault)
	if err := d.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	now = now.Add(instancetype.Soon)
	if err := d.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	first := d.Snapshot()
	if len(first.Types) != 2 || first.Generation != 1 {
		t.Fatalf("%d types, generation %d", len(first.Types), first.Generation)
	}
	s.World.AddFault(world.Fault{Kind: world.FaultThrottle, Service: "ec2"})
	now = now.Add(instancetype.Period - time.Second)
	if err := d.Refresh(t.Context()); err != nil {
		t.Errorf("asked before the time: %v", err)
	}
	now = now.Add(time.Second)
	if err := d.Refresh(t.Context()); err == nil || d.Snapshot() != first {
		t.Errorf("after a failure (%v) the snapshot is another", err)
	}
	s.World.ClearFaults()
	if err := d.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	second := d.Snapshot()
	if second == first || second.Generation != first.Generation || !second.At.Equal(now) {
		t.Errorf("equal content has generations %d and %d, at %v", first.Generation, second.Generation, second.At)
	}
}

func TestNoTypesIsAnError(t *testing.T) {
	_, aws := start(t, awssim.Options{World: world.Options{Types: []string{"mac2.metal"}}})
	err := instancetype.NewDiscovery(aws.EC2, nil, nil).Refresh(t.Context())
	if err == nil || !strings.Contains(err.Error(), "none is in both lists") {
		t.Errorf("got %v", err)
	}
}
