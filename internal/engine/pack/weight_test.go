package pack_test

import (
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/sim/scenario"
)

// The pool of more weight sells in zone a only, the other in zone b for half the price. Weight is a strict order, also for
// pods that may choose their zone.
func TestPodsThatMayChooseTheirZoneGoWhereTheHeavierPoolIs(t *testing.T) {
	sells := func(name string, weight int, price map[string]catalog.MicroUSD) *cluster.Pool {
		ty := &catalog.Type{Name: name, Capacity: res.List{res.CPU: 4000, res.Memory: 16 << 30, res.Pods: 20}}
		zones := []string{}
		for _, zone := range []string{"a", "b"} {
			if price[zone] > 0 {
				zones = append(zones, zone)
				ty.Offerings = append(ty.Offerings, catalog.Offering{Zone: zone, CapacityType: catalog.OnDemand, Price: price[zone], Available: true})
			}
		}
		ty.Requirements = []requirement.Term{in(requirement.InstanceType, name), in(requirement.Zone, zones...), in(requirement.CapacityType, catalog.OnDemand)}
		return &cluster.Pool{Name: name, Weight: weight, Types: []*catalog.Type{ty}}
	}
	for name, tie := range map[string]func(*cluster.Class){
		"anywhere": func(*cluster.Class) {},
		"together in any zone": func(c *cluster.Class) {
			c.PodAffinity = []cluster.PodAffinity{{Key: requirement.Zone, Namespaces: []string{"default"}, Selector: named("web")}}
		},
		"spread over zones": func(c *cluster.Class) {
			c.Spreads = []cluster.Spread{{Key: requirement.Zone, MaxSkew: 1, Selector: named("web")}}
		},
		"apart by zone": func(c *cluster.Class) {
			c.AntiAffinity = []cluster.PodAffinity{{Key: requirement.Zone, Namespaces: []string{"default"}, Selector: named("web")}}
		},
	} {
		for _, work := range []int64{-1, 0} {
			p := &pack.Problem{Now: time.Unix(1000, 0), Options: pack.Options{WellKnown: scenario.WellKnown(), Work: work}, Pools: []*cluster.Pool{
				sells("heavy", 10, map[string]catalog.MicroUSD{"a": 200_000}), sells("light", 0, map[string]catalog.MicroUSD{"a": 200_000, "b": 100_000})}}
			c := asking(1000, 1<<10)
			tie(c)
			deploy(p, "web", 1, c)
			moving := *p
			moving.Pending = nil
			moving.Nodes = []*cluster.Node{{Name: "old", Hostname: "old", Pool: "heavy", InstanceType: "heavy", Zone: "a", CapacityType: catalog.OnDemand, Price: 200_000,
				Labels:      map[string]string{requirement.Zone: "a", requirement.Hostname: "old", requirement.NodePool: "heavy", requirement.InstanceType: "heavy", requirement.CapacityType: catalog.OnDemand},
				Capacity:    res.List{res.CPU: 4000, res.Memory: 16 << 30, res.Pods: 20},
				Allocatable: res.List{res.CPU: 4000, res.Memory: 16 << 30, res.Pods: 20}, Launched: true, Registered: true, Initialized: true, Pods: p.Pending}}
			if a := pack.NewWhatIf(&moving).Try([]int{0}, pack.Rules{Launch: true, Old: 200_000, Saving: 1}); a.Refusal != pack.NotCheaper {
				t.Errorf("%s: the node of the heavier pool may go: %v, %d", name, a.Refusal, a.Price)
			}
			if out := pack.Solve(p); len(out.NewNodes) != 1 || out.NewNodes[0].Pool != "heavy" {
				t.Errorf("%s, work %d: the heavier pool was passed over\n%s", name, work, out)
			}
		}
	}
}
