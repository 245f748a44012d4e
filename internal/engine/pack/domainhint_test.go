package pack_test

import (
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/engine/verify"
	"github.com/kerf-sh/kerf/internal/sim/scenario"
)

// Pods that want cores are cheapest in one zone, those that want memory in another; one new node has room for both.
func TestPodsOfTwoClassesMeetInTheZoneWhereTheyShareAnInstance(t *testing.T) {
	together := func(name string, c *cluster.Class) *cluster.Class {
		c.PodAffinity = []cluster.PodAffinity{{Key: requirement.Zone, Namespaces: []string{"default"}, Selector: named(name)}}
		return c
	}
	spread := func(name string, c *cluster.Class) *cluster.Class {
		c.Spreads = []cluster.Spread{{Key: requirement.Zone, MaxSkew: 1, Selector: named(name)}}
		return c
	}
	for name, tie := range map[string]func(string, *cluster.Class) *cluster.Class{"together in any zone": together, "spread over zones": spread} {
		t.Run(name, func(t *testing.T) {
			pool := &cluster.Pool{Name: "general"}
			for _, x := range []struct {
				name   string
				gib    int64
				inA, B catalog.MicroUSD
			}{{"cores", 8, 100_000, 110_000}, {"memory", 32, 210_000, 200_000}} {
				ty := &catalog.Type{Name: x.name, Capacity: res.List{res.CPU: 4000, res.Memory: x.gib << 30, res.Pods: 20}}
				ty.Requirements = []requirement.Term{in(requirement.InstanceType, x.name), in(requirement.Zone, "a", "b"), in(requirement.CapacityType, catalog.OnDemand)}
				ty.Offerings = []catalog.Offering{{Zone: "a", CapacityType: catalog.OnDemand, Price: x.inA, Available: true},
					{Zone: "b", CapacityType: catalog.OnDemand, Price: x.B, Available: true}}
				pool.Types = append(pool.Types, ty)
			}
			p := &pack.Problem{Now: time.Unix(1000, 0), Pools: []*cluster.Pool{pool}, Options: pack.Options{WellKnown: scenario.WellKnown()}}
			deploy(p, "web", 1, tie("web", asking(1000, 1<<10)))
			deploy(p, "store", 1, tie("store", asking(1000, 7<<10)))
			out := pack.Solve(p)
			for _, v := range verify.Check(p, out) {
				t.Error(v)
			}
			if out.Price != 100_000 {
				t.Errorf("%d, want 100000\n%s", out.Price, out)
			}
			p.Options.Work = 1 // that is not enough to solve the problem again
			if out := pack.Solve(p); out.Price != 210_000 {
				t.Errorf("%d without work, want 210000\n%s", out.Price, out)
			}
		})
	}
}
