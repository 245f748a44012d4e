package offering

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/aws/instancetype"
	"github.com/kerf-sh/kerf/internal/aws/network"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
)

// Whatever happens, in whatever order, updating step by step ends where assembling from nothing does.
func TestUpdatingIsAssembling(t *testing.T) {
	var shapes []instancetype.Shape
	base := prices{}
	zones := []string{"z-a", "z-b"}
	subnets := []awsv1.Subnet{{ID: "s-a", Zone: "z-a", ZoneID: "az1"}, {ID: "s-b", Zone: "z-b", ZoneID: "az2"}}
	for i := range 9 {
		name := fmt.Sprintf("m%d.large", i)
		shapes = append(shapes, instancetype.Shape{Type: catalog.Type{Name: name}, Zones: zones, UsageClasses: []string{"on-demand", "spot"}, VCPUs: i})
		base[name] = 1000
	}
	rapid.Check(t, func(t *rapid.T) {
		c := newClock()
		u := NewUnavailable(c.now)
		p := prices{}
		for k, v := range base {
			p[k] = v
		}
		in := Input{Subnets: subnets, Prices: p, Unavailable: u.Snapshot()}
		have := Assemble(shapes, in)
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			pool := Pool{
				CapacityType: rapid.SampledFrom([]string{"spot", "on-demand"}).Draw(t, "capacity type"),
				InstanceType: rapid.SampledFrom(shapes).Draw(t, "type").Type.Name,
				Zone:         rapid.SampledFrom(zones).Draw(t, "zone"),
			}
			var dearer []string
			switch rapid.IntRange(0, 6).Draw(t, "event") {
			case 0, 1:
				u.MarkPool(pool, rapid.SampledFrom([]string{NoCapacity, Reclaimed}).Draw(t, "reason"))
			case 2:
				c.pass(rapid.SampledFrom([]time.Duration{time.Second, 4 * time.Minute}).Draw(t, "time"))
			case 3:
				u.MarkQuota(pool.CapacityType, pool.InstanceType, rapid.IntRange(1, 8).Draw(t, "vcpus"), Quota{})
			case 4:
				u.MarkSubnet(rapid.SampledFrom(subnets).Draw(t, "subnet").ID, network.Demand{})
			default:
				dearer = []string{pool.InstanceType, "x9.huge"}
				p[pool.InstanceType+"/"+pool.Zone] = catalog.MicroUSD(rapid.IntRange(1, 900).Draw(t, "price"))
			}
			next := in
			next.Unavailable = u.Snapshot()
			shut, single := next.Unavailable.Changed(in.Unavailable)
			if single {
				have = Update(have, shapes, next, append(dearer, shut...))
			} else {
				have = Assemble(shapes, next)
			}
			in = next
		}
		if diff := cmp.Diff(Assemble(shapes, in), have); diff != "" {
			t.Fatalf("(-assembled +updated):\n%s", diff)
		}
	})
}

func TestAnUpdateTouchesOnlyWhatChanged(t *testing.T) {
	shapes, p, subnets := region()
	u := NewUnavailable(newClock().now)
	in := Input{Subnets: subnets, Prices: p, Unavailable: u.Snapshot()}
	old := Assemble(shapes, in)
	before := *old[7]
	was := in.Unavailable
	u.MarkPool(spot(shapes[7].Type.Name, "z-a"), NoCapacity)
	in.Unavailable = u.Snapshot()
	changed, single := in.Unavailable.Changed(was)
	if !single || len(changed) != 1 {
		t.Fatalf("changed: %v, %v", changed, single)
	}
	now := Update(old, shapes, in, changed)
	for i := range now {
		if same := now[i] == old[i]; same != (i != 7) {
			t.Errorf("type %d is the same: %v", i, same)
		}
	}
	if diff := cmp.Diff(before, *old[7]); diff != "" {
		t.Errorf("the old list was changed: %s", diff)
	}
	if &now[0] == &old[0] {
		t.Error("the new list can't be told from the old one")
	}
	// One pointer list, the type, its offerings, its requirements and the few lists of zones and names.
	if n := testing.AllocsPerRun(10, func() { Update(old, shapes, in, changed) }); n > 30 {
		t.Errorf("%.0f allocations", n)
	}
}
