package instancetype_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/kerf-sh/kerf/internal/aws/instancetype"
	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
	"github.com/kerf-sh/kerf/internal/sim/awssim"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// partly answers as EC2 does, without what is left out.
type partly struct {
	instancetype.API
	noType, noOffer func(name, zone string) bool
	asked           int
	token           *string // of each page of offerings
}

func (p *partly) DescribeInstanceTypes(ctx context.Context, in *ec2.DescribeInstanceTypesInput, o ...func(*ec2.Options)) (*ec2.DescribeInstanceTypesOutput, error) {
	out, err := p.API.DescribeInstanceTypes(ctx, in, o...)
	if err == nil {
		out.InstanceTypes = slices.DeleteFunc(out.InstanceTypes, func(t types.InstanceTypeInfo) bool { return p.noType(string(t.InstanceType), "") })
	}
	return out, err
}

func (p *partly) DescribeInstanceTypeOfferings(ctx context.Context, in *ec2.DescribeInstanceTypeOfferingsInput, o ...func(*ec2.Options)) (*ec2.DescribeInstanceTypeOfferingsOutput, error) {
	p.asked++
	in.NextToken = nil
	out, err := p.API.DescribeInstanceTypeOfferings(ctx, in, o...)
	if err == nil {
		out.InstanceTypeOfferings = slices.DeleteFunc(out.InstanceTypeOfferings, func(t types.InstanceTypeOffering) bool {
			return p.noOffer(string(t.InstanceType), *t.Location)
		})
		out.NextToken = p.token
	}
	return out, err
}

func never(string, string) bool { return false }

// A type, or a zone of it, that one answer lacks may be there all the same: it counts as gone when three in a row lack it.
func TestWhatOneAnswerLacksIsKeptUntilOthersLackItToo(t *testing.T) {
	m5 := func(name, _ string) bool { return name == "m5.large" }
	inZone := func(name, zone string) bool { return name == "m5.large" && zone == "us-east-1b" }
	for _, tc := range []struct {
		name            string
		noType, noOffer func(name, zone string) bool
		zones           string // of m5.large in the end
	}{
		{"not described", m5, never, ""},
		{"not offered", never, m5, ""},
		{"in neither list", m5, m5, ""},
		{"not offered in one zone", never, inZone, "us-east-1a us-east-1c us-east-1d us-east-1f"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, aws := start(t, awssim.Options{World: world.Options{Types: []string{"m5.large", "c5.large"}}})
			now := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
			api := &partly{API: aws.EC2, noType: never, noOffer: never}
			d := instancetype.NewDiscovery(api, nil, func() time.Time { return now })
			refresh := func(wait time.Duration, asks int) string {
				t.Helper()
				now = now.Add(wait)
				before := api.asked
				if err := d.Refresh(t.Context()); err != nil {
					t.Fatal(err)
				}
				if got := api.asked - before; got != asks {
					t.Errorf("EC2 was asked %d times, want %d", got, asks)
				}
				s := d.Snapshot()
				if !slices.IsSortedFunc(s.Types, func(a, b ec2facts.Type) int { return strings.Compare(a.Name, b.Name) }) || len(s.Types) != len(s.Zones) {
					t.Fatalf("%d types in no order, %d lists of zones", len(s.Types), len(s.Zones))
				}
				i, ok := s.Find("m5.large")
				if _, skipped := s.Skipped["m5.large"]; ok == skipped && tc.name == "not offered" {
					t.Errorf("found: %v, skipped: %v", ok, skipped)
				}
				if !ok {
					return ""
				}
				return strings.Join(s.Zones[i], " ")
			}
			all := refresh(0, 1)
			refresh(instancetype.Soon, 1) // the first answer is confirmed
			generation := d.Snapshot().Generation
			refresh(instancetype.Period-time.Second, 0)
			api.noType, api.noOffer = tc.noType, tc.noOffer
			for i, wait := range []time.Duration{time.Second, instancetype.Soon} {
				if got := refresh(wait, 1); got != all {
					t.Errorf("after %d answers without it, m5.large is in zones %q, want %q", i+1, got, all)
				}
			}
			refresh(instancetype.Soon-time.Second, 0)
			api.noType, api.noOffer = never, never
			if got := refresh(time.Second, 1); got != all || d.Snapshot().Generation != generation {
				t.Errorf("back again it is in zones %q, want %q; generations %d and %d", got, all, generation, d.Snapshot().Generation)
			}
			api.noType, api.noOffer = tc.noType, tc.noOffer
			refresh(instancetype.Period, 1)
			refresh(instancetype.Soon, 1)
			if got := refresh(instancetype.Soon, 1); got != tc.zones {
				t.Errorf("after three answers without it, m5.large is in zones %q, want %q", got, tc.zones)
			}
			refresh(instancetype.Period-time.Second, 0)
		})
	}
}

func TestAPageThatNamesItselfAsTheNextIsAnError(t *testing.T) {
	_, aws := start(t, awssim.Options{World: world.Options{Types: []string{"m5.large"}}})
	api := &partly{API: aws.EC2, noType: never, noOffer: never, token: new("same")}
	err := instancetype.NewDiscovery(api, nil, nil).Refresh(t.Context())
	if err == nil || !strings.Contains(fmt.Sprint(err), "incomplete") || api.asked != 2 {
		t.Errorf("%v after %d pages", err, api.asked)
	}
}
