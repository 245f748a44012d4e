package pack_test

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/engine/verify"
	"github.com/kerf-sh/kerf/internal/sim/scenario"
)

// generalPool may launch new nodes of the compute, general and memory families from the fifth generation on, with 4 to 32
// cores, like that of the demo.
func generalPool(tb testing.TB) *cluster.Pool {
	tb.Helper()
	types, err := scenario.ServerTypes("us-east-1", 3)
	if err != nil {
		tb.Fatal(err)
	}
	types = slices.DeleteFunc(types, func(t *catalog.Type) bool {
		cpu, family := t.Capacity[res.CPU], t.Name[0]
		return family != 'c' && family != 'm' && family != 'r' || t.Name[1] < '5' || cpu < 4000 || cpu > 32_000
	})
	return &cluster.Pool{Name: "general", Types: types}
}

// deploy adds n pods of a class that is known by its name.
func deploy(p *pack.Problem, name string, n int, c *cluster.Class) {
	c.Labels = map[string]string{"app": name}
	c.ID = c.Hash()
	for i := range n {
		ref := cluster.PodRef{Namespace: "default", Name: name + "-" + strconv.Itoa(i), UID: name + "-" + strconv.Itoa(i)}
		p.Pending = append(p.Pending, &cluster.Pod{PodRef: ref, Class: c, CreatedAt: time.Unix(int64(i), 0)})
	}
}

func asking(milli, mib int64) *cluster.Class {
	return &cluster.Class{Namespace: "default", Requests: res.List{res.CPU: milli, res.Memory: mib << 20, res.Pods: 1}}
}

func named(app string) *cluster.Selector {
	return &cluster.Selector{Terms: []requirement.Term{in("app", app)}}
}

// shop is a few pods that are spread over zones, and a few that want memory.
func shop(tb testing.TB, limits res.List) *pack.Problem {
	pool := generalPool(tb)
	pool.Limits = limits
	p := &pack.Problem{Now: time.Unix(1000, 0), Pools: []*cluster.Pool{pool}, Options: pack.Options{WellKnown: scenario.WellKnown()}}
	web := asking(500, 512)
	web.Spreads = []cluster.Spread{{Key: requirement.Zone, MaxSkew: 1, Selector: named("web")}}
	deploy(p, "web", 9, web)
	deploy(p, "api", 6, asking(750, 6<<10))
	return p
}

func TestLimitsThatLeavePlentyMakeNoPlanDearer(t *testing.T) {
	const most = 80_000 // what three new nodes for these pods cost at most
	free := pack.Solve(shop(t, nil))
	if free.Price > most {
		t.Errorf("without limits: %d, want at most %d\n%s", free.Price, most, free)
	}
	for name, limits := range map[string]res.List{
		"cores":           {res.CPU: 1_000_000},
		"memory":          {res.Memory: 1 << 40},
		"nodes":           {res.Nodes: 100},
		"several at once": {res.CPU: 1_000_000, res.Memory: 1 << 40, res.Nodes: 100},
	} {
		if diff := cmp.Diff(free, pack.Solve(shop(t, limits))); diff != "" {
			t.Errorf("%s: the plan is another one with limits (-without +with):\n%s", name, diff)
		}
	}
}

// Each pod asks for little, but takes a new node for itself: what pods ask for says nothing about when the limit is reached.
func TestALimitHoldsWhereInstancesAreMuchLargerThanTheirPods(t *testing.T) {
	for name, limits := range map[string]res.List{
		"cores":  {res.CPU: 40_000},
		"nodes":  {res.Nodes: 3},
		"memory": {res.Memory: 400 << 30},
	} {
		t.Run(name, func(t *testing.T) {
			p := shop(t, limits)
			p.Pending = nil
			p.Pools[0].Types = slices.DeleteFunc(p.Pools[0].Types, func(x *catalog.Type) bool { return x.Capacity[res.CPU] < 8000 })
			apart := asking(100, 100)
			apart.AntiAffinity = []cluster.PodAffinity{{Key: requirement.Hostname, Namespaces: []string{"default"}, Selector: named("apart")}}
			deploy(p, "apart", 40, apart)
			out := pack.Solve(p)
			for _, v := range verify.Check(p, out) {
				t.Error(v)
			}
			if n := len(out.NewNodes); n < 3 || n > 30 {
				t.Errorf("%d instances", n)
			}
			if len(out.Unplaced) != 1 {
				t.Fatalf("%d classes have no place", len(out.Unplaced))
			}
			if got, want := len(out.Unplaced[0].Pods), 40-len(out.NewNodes); got != want {
				t.Errorf("%d pods have no place, want %d", got, want)
			}
		})
	}
}

// Small new nodes are to be had in zone a only, where subnets have two addresses: the others go to zone b, where new nodes are
// larger. The limit leaves plenty for the former, and not for the latter.
func TestALimitHoldsWhenInstancesHaveToLeaveAZone(t *testing.T) {
	p := shop(t, res.List{res.CPU: 100_000})
	p.Pending = nil
	pool := p.Pools[0]
	pool.Subnets = []cluster.Subnet{{ID: "subnet-a", Zone: "a", Free: 2}, {ID: "subnet-b", Zone: "b", Free: 100}}
	pool.Types = nil
	for _, x := range []struct {
		name  string
		cores int64
		zones []string
	}{{"small", 8, []string{"a"}}, {"large", 16, []string{"a", "b"}}} {
		ty := &catalog.Type{Name: x.name, Capacity: res.List{res.CPU: x.cores * 1000, res.Memory: 32 << 30, res.Pods: 20}}
		ty.Requirements = []requirement.Term{in(requirement.InstanceType, x.name), in(requirement.Zone, x.zones...), in(requirement.CapacityType, catalog.OnDemand)}
		for _, zone := range x.zones {
			ty.Offerings = append(ty.Offerings, catalog.Offering{Zone: zone, CapacityType: catalog.OnDemand, Price: catalog.MicroUSD(x.cores) * 10_000, Available: true})
		}
		pool.Types = append(pool.Types, ty)
	}
	apart := asking(100, 100)
	apart.AntiAffinity = []cluster.PodAffinity{{Key: requirement.Hostname, Namespaces: []string{"default"}, Selector: named("apart")}}
	deploy(p, "apart", 10, apart)
	out := pack.Solve(p)
	for _, v := range verify.Check(p, out) {
		t.Error(v)
	}
	cores := int64(0)
	for _, nn := range out.NewNodes {
		cores += map[string]int64{"small": 8, "large": 16}[nn.Types[0].Name]
	}
	if cores > 100 || cores < 80 {
		t.Errorf("%d instances have %d cores, the limit is 100\n%s", len(out.NewNodes), cores, out)
	}
}
