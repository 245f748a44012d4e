package pack

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// passing is a cluster through which nodes pass, so many at a time, each with a name, a taint, a label and a class of pods
// of its own.
type passing struct {
	engine *Engine
	p      Problem
	seen   int
}

func newPassing(alive int) *passing {
	x := &passing{engine: NewEngine()}
	x.p.Options.WellKnown = []string{requirement.Zone, requirement.CapacityType, requirement.InstanceType, requirement.Arch, requirement.OS}
	x.p.Pools = []*cluster.Pool{{Name: "pool", Types: []*catalog.Type{{Name: "m5.large", Capacity: res.List{res.CPU: 2000, res.Memory: 8 << 30, res.Pods: 30},
		Offerings: []catalog.Offering{{Zone: "zone-a", CapacityType: catalog.OnDemand, Price: 100_000, Available: true}}}}}}
	x.p.Nodes = make([]*cluster.Node, alive)
	return x
}

// step lets some nodes be replaced by new ones, and a pod wait that no other is like.
func (x *passing) step(nodes int) *plan.Plan {
	x.p.Generation++
	x.p.Nodes = slices.Clone(x.p.Nodes)
	if x.seen == 0 {
		nodes = len(x.p.Nodes)
	}
	for range nodes {
		i := x.seen
		name := fmt.Sprintf("ip-10-0-%d-%d.eu-central-1.compute.internal", i/250, i%250)
		class := &cluster.Class{ID: fmt.Sprint("running-", i), Namespace: "ns", Labels: map[string]string{"job": fmt.Sprint(i)}, Requests: res.List{res.CPU: 1800}}
		x.p.Nodes[i%len(x.p.Nodes)] = &cluster.Node{Name: name, Claim: name, Pool: "pool", Registered: true, Initialized: true, Launched: true,
			Labels:      map[string]string{requirement.Hostname: name, requirement.Zone: "zone-a", "job": fmt.Sprint(i)},
			Taints:      []cluster.Taint{{Key: "job", Value: fmt.Sprint(i), Effect: cluster.NoSchedule}},
			Allocatable: res.List{res.CPU: 2000, res.Memory: 8 << 30, res.Pods: 30},
			Pods:        []*cluster.Pod{{PodRef: cluster.PodRef{Namespace: "ns", Name: fmt.Sprint("running-", i), UID: fmt.Sprint(i)}, Class: class}}}
		x.seen++
	}
	id := fmt.Sprint("waiting-", x.seen)
	x.p.Pending = []*cluster.Pod{{PodRef: cluster.PodRef{Namespace: "ns", Name: id, UID: id}, Class: &cluster.Class{ID: id, Namespace: "ns",
		Requests: res.List{res.CPU: 1000}, Selector: []requirement.Term{{Key: "job", Operator: requirement.NotIn, Values: []string{id}}}}}}
	q := x.p
	return x.engine.Solve(&q)
}

// entries counts what the engine holds, by kind.
func (e *Engine) entries() map[string]int {
	k := e.memory
	out := map[string]int{"requirements": len(k.reqs.all), "intersections": len(k.reqs.ands), "settings": len(k.compileKeys)}
	for _, t := range k.compileKeys {
		g := &t.base
		out["pools"] += len(t.pools)
		out["catalogs"] += len(t.catalogs)
		out["nodes"] += len(g.bySrc) + len(g.at) + len(g.order) + len(g.given)
		out["looks"] += len(g.kinds.looks)
		out["kinds"] += len(g.kinds.sample) + len(g.kinds.steps) + len(g.kinds.of) + len(g.kinds.values)
		out["classes"] += len(g.runs.of) + len(g.runs.all) + len(g.runs.index.links) + len(g.runs.index.first)
		out["pods"] += len(g.runs.refs)
		for _, f := range g.spare {
			out["copies"] += cap(f.nodes)
		}
		for _, p := range t.pools {
			out["shapes"] += len(p.pool.shapes)
		}
	}
	return out
}

func TestMemoryIsThatOfTheNodesThatAreThere(t *testing.T) {
	const alive = 40
	x := newPassing(alive)
	most, later := map[string]int{}, map[string]int{}
	note := func(of map[string]int) {
		of["bytes"] = max(of["bytes"], x.engine.memory.bytes())
		for name, n := range x.engine.entries() {
			of[name] = max(of[name], n)
		}
	}
	for x.seen < 30_000 {
		if out := x.step(alive); len(out.Unplaced) > 0 {
			t.Fatal(out.Unplaced)
		}
		note(most)
	}
	for x.seen < 90_000 {
		x.step(alive)
		note(later)
	}
	if limit := 3*unneededBytes/2 + 2*x.engine.memory.needed; later["bytes"] > limit {
		t.Errorf("%d bytes are kept after %d names, which is more than %d", later["bytes"], x.seen, limit)
	}
	for name, n := range later {
		if n > most[name]+most[name]/4+8 {
			t.Errorf("%s: %d while %d names were seen, %d of the first 30000", name, n, x.seen, most[name])
		}
	}
	if testing.Verbose() {
		t.Log(later)
	}
}

// BenchmarkNamesSeen feeds one engine a million names of nodes, a thousand at a time, and tells how much memory is in use
// on the way.
func BenchmarkNamesSeen(b *testing.B) {
	for b.Loop() {
		x := newPassing(1000)
		for _, names := range []int{10_000, 100_000, 250_000, 500_000, 1_000_000} {
			for x.seen < names {
				x.step(500)
			}
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			b.Logf("%d names seen: %.1f MB in use", x.seen, float64(m.HeapAlloc)/1e6)
			b.ReportMetric(float64(m.HeapAlloc)/1e6, fmt.Sprintf("MB-after-%dk", names/1000))
		}
		runtime.KeepAlive(x)
	}
}
