package offering

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/aws/instancetype"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// inGroupOf are offerings of two types in two zones, in a group; the second type can stand in cluster groups only.
func inGroupOf(u *Unavailable, g *awsv1.PlacementGroup) []*catalog.Type {
	labels := []requirement.Term{
		{Key: awsv1.LabelInstanceTenancy, Operator: requirement.In, Values: []string{"dedicated", "default"}},
		{Key: awsv1.LabelPlacementGroupID, Operator: requirement.DoesNotExist}, {Key: awsv1.LabelPlacementGroupPartition, Operator: requirement.DoesNotExist},
	}
	shape := func(name string, strategies ...string) instancetype.Shape {
		return instancetype.Shape{
			Type: catalog.Type{Name: name, Requirements: labels}, Zones: []string{"z-a", "z-b"}, UsageClasses: []string{"on-demand"}, VCPUs: 2, Strategies: strategies,
		}
	}
	return Assemble([]instancetype.Shape{shape("m5.large", "cluster", "partition", "spread"), shape("x9.large", "cluster")}, Input{
		Subnets: []awsv1.Subnet{{ID: "a", Zone: "z-a"}, {ID: "b", Zone: "z-b"}}, Prices: prices{"m5.large": 1, "x9.large": 2}, Unavailable: u.Snapshot(), Group: g,
	})
}

func TestOfferingsInAPlacementGroup(t *testing.T) {
	parts, spreading := &awsv1.PlacementGroup{ID: "pg-1", Strategy: "partition", PartitionCount: 2}, &awsv1.PlacementGroup{ID: "pg-1", Strategy: "spread"}
	pool := Pool{CapacityType: catalog.OnDemand, InstanceType: "m5.large", Zone: "z-a"}
	in := func(group string, partition int32) Pool {
		p := pool
		p.Group, p.Partition = group, partition
		return p
	}
	type where struct {
		zone      string
		partition int32
	}
	for name, c := range map[string]struct {
		group *awsv1.PlacementGroup
		mark  func(*Unavailable)
		want  map[where]string
	}{
		"there is one for each partition": {parts, nil, map[where]string{{"z-a", 1}: "", {"z-a", 2}: "", {"z-b", 1}: "", {"z-b", 2}: ""}},
		"a partition is closed for itself": {parts, func(u *Unavailable) { u.MarkPool(in("pg-1", 2), NoCapacity) },
			map[where]string{{"z-a", 1}: "", {"z-a", 2}: NoCapacity, {"z-b", 1}: "", {"z-b", 2}: ""}},
		"a pool is closed in the groups, too": {parts, func(u *Unavailable) { u.MarkPool(pool, Reclaimed) },
			map[where]string{{"z-a", 1}: Reclaimed, {"z-a", 2}: Reclaimed, {"z-b", 1}: "", {"z-b", 2}: ""}},
		"a full group is closed in its zone": {spreading, func(u *Unavailable) { u.MarkGroup("pg-1", "z-a", GroupFull) }, map[where]string{{"z-a", 0}: GroupFull, {"z-b", 0}: ""}},
		"another group is full":              {spreading, func(u *Unavailable) { u.MarkGroup("pg-2", "z-a", GroupFull) }, map[where]string{{"z-a", 0}: "", {"z-b", 0}: ""}},
		"a group that had capacity again": {spreading, func(u *Unavailable) { u.MarkGroup("pg-1", "z-a", GroupFull); u.GroupFreed("pg-1", "z-a") },
			map[where]string{{"z-a", 0}: "", {"z-b", 0}: ""}},
		"in no group nothing of it counts": {nil, func(u *Unavailable) {
			u.MarkGroup("pg-1", "z-a", GroupFull)
			u.MarkPool(in("pg-1", 0), NoCapacity)
		}, map[where]string{{"z-a", 0}: "", {"z-b", 0}: ""}},
	} {
		t.Run(name, func(t *testing.T) {
			u := NewUnavailable(newClock().now)
			if c.mark != nil {
				c.mark(u)
			}
			types := inGroupOf(u, c.group)
			got := map[where]string{}
			for _, o := range types[0].Offerings {
				got[where{o.Zone, o.Partition}] = o.Unavailable
				if o.Available != (o.Unavailable == "") || o.ForNow == o.Available {
					t.Errorf("%+v", o)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			for _, o := range types[1].Offerings {
				if want := map[bool]string{true: RefusedStrategy}[c.group != nil]; o.Unavailable != want || o.ForNow {
					t.Errorf("the other type: %q, want %q", o.Unavailable, want)
				}
			}
		})
	}
}

func TestLabelsInAPlacementGroup(t *testing.T) {
	terms := func(g *awsv1.PlacementGroup) map[string]requirement.Term {
		out := map[string]requirement.Term{}
		for _, term := range inGroupOf(NewUnavailable(newClock().now), g)[0].Requirements {
			out[term.Key] = term
		}
		return out
	}
	parts := terms(&awsv1.PlacementGroup{ID: "pg-1", Strategy: "partition", PartitionCount: 2})
	if _, said := parts[awsv1.LabelPlacementGroupPartition]; said {
		t.Error("the type says which partition it is in; that is the offering's to say")
	}
	if got := parts[awsv1.LabelPlacementGroupID]; got.Operator != requirement.In || len(got.Values) != 1 || got.Values[0] != "pg-1" {
		t.Errorf("id: %v", got)
	}
	if n := len(parts[awsv1.LabelInstanceTenancy].Values); n != 2 {
		t.Errorf("%d tenancies", n)
	}
	spreading := terms(&awsv1.PlacementGroup{ID: "pg-1", Strategy: "spread"})
	if got := spreading[awsv1.LabelInstanceTenancy]; len(got.Values) != 1 || got.Values[0] != "default" {
		t.Errorf("tenancy in a spread group: %v", got)
	}
	if got := spreading[awsv1.LabelPlacementGroupPartition]; got.Operator != requirement.DoesNotExist {
		t.Errorf("partition in a spread group: %v", got)
	}
	if got := terms(nil)[awsv1.LabelPlacementGroupID]; got.Operator != requirement.DoesNotExist {
		t.Errorf("id without a group: %v", got)
	}
}

func TestAGroupThatClosesChangesMoreThanSinglePools(t *testing.T) {
	c := newClock()
	u := NewUnavailable(c.now)
	before := u.Snapshot()
	u.MarkPool(Pool{CapacityType: catalog.Spot, InstanceType: "m5.large", Zone: "z", Group: "pg-1", Partition: 1}, NoCapacity)
	if got, single := u.Snapshot().Changed(before); !single || len(got) != 1 || got[0] != "m5.large" {
		t.Errorf("a pool of a partition: %v, %t", got, single)
	}
	u.MarkGroup("pg-1", "z", GroupFull)
	after := u.Snapshot()
	if _, single := after.Changed(before); single {
		t.Error("a group counts as single pools")
	}
	if got := after.Counts(); len(got) != 2 || got[0].Scope != "placement-group" || got[0].Reason != GroupFull {
		t.Errorf("counted: %+v", got)
	}
	c.pass(4 * time.Minute)
	if !opened(after, u.Snapshot()) {
		t.Error("nobody hears that it is open again")
	}
}
