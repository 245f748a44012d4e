package disrupt_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kerf-sh/kerf/internal/cluster"
	"github.com/kerf-sh/kerf/internal/disrupt"
	"github.com/kerf-sh/kerf/internal/scenario"
)

// copied is the problem with lists of its own, so that it can be changed while the old one is remembered.
func copied(p *disrupt.Problem) *disrupt.Problem {
	q, c := *p, *p.Cluster
	q.Cluster = &c
	q.Nodes, q.Pools = slices.Clone(p.Nodes), slices.Clone(p.Pools)
	c.Nodes, c.Pending, c.Pools = slices.Clone(c.Nodes), slices.Clone(c.Pending), slices.Clone(c.Pools)
	return &q
}

// changes are what may happen to a cluster between two looks.
var changes = map[string]func(*disrupt.Problem){
	"nothing":               func(*disrupt.Problem) {},
	"a newer generation":    func(p *disrupt.Problem) { p.Cluster.Generation++ },
	"time goes by":          func(p *disrupt.Problem) { p.Cluster.Now = p.Cluster.Now.Add(time.Hour) },
	"a block is reworded":   func(p *disrupt.Problem) { p.Nodes[0].Blocks = []disrupt.Reason{{Code: disrupt.Other, Detail: "again"}} },
	"a block goes":          func(p *disrupt.Problem) { p.Nodes[0].Blocks = nil },
	"a node expires soon":   func(p *disrupt.Problem) { p.Nodes[0].LifetimeLeft = time.Minute },
	"a node expires later":  func(p *disrupt.Problem) { p.Nodes[0].LifetimeLeft = 2 * time.Minute },
	"a node has a price":    func(p *disrupt.Problem) { p.Options.NodePrice = 100_000 },
	"a pool may lose none":  func(p *disrupt.Problem) { p.Pools[0].Allowed = map[disrupt.Cause]int{disrupt.Underutilized: 0} },
	"a pool becomes static": func(p *disrupt.Problem) { p.Pools[0].Static = true },
	"a pod costs more": func(p *disrupt.Problem) {
		p.DeletionCosts = map[string]int32{p.Cluster.Nodes[0].Pods[0].PodRef.String(): 1 << 30}
	},
	"a pod ends": func(p *disrupt.Problem) {
		own := *p.Cluster.Nodes[0]
		own.Pods, own.Used = own.Pods[1:], nil
		p.Cluster.Nodes[0] = &own
	},
	"a node is gone": func(p *disrupt.Problem) { p.Cluster.Nodes = p.Cluster.Nodes[1:] },
	"a type is gone": func(p *disrupt.Problem) {
		own := *p.Cluster.Pools[0]
		own.Types = own.Types[1:]
		p.Cluster.Pools[0] = &own
	},
	"a pod waits": func(p *disrupt.Problem) {
		p.Cluster.Pending = append(p.Cluster.Pending, &cluster.Pod{PodRef: cluster.PodRef{Namespace: "ns", Name: "new"}, Class: p.Cluster.Nodes[1].Pods[0].Class})
	},
}

func TestEngineDecidesLikeDecide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t)
		if len(p.Cluster.Nodes) < 2 || len(p.Cluster.Nodes[0].Pods) == 0 || len(p.Cluster.Nodes[1].Pods) == 0 {
			return
		}
		names := make([]string, 0, len(changes))
		for name := range changes {
			names = append(names, name)
		}
		slices.Sort(names)
		e := disrupt.NewEngine()
		e.Decide(p)
		for range 6 {
			name := rapid.SampledFrom(names).Draw(t, "change")
			if len(p.Cluster.Nodes) < 3 || len(p.Cluster.Nodes[0].Pods) == 0 || len(p.Cluster.Nodes[1].Pods) == 0 || len(p.Cluster.Pools[0].Types) < 2 {
				break
			}
			p = copied(p)
			changes[name](p)
			if got, want := bytesOf(t, e.Decide(p)), bytesOf(t, disrupt.Decide(p)); got != want {
				t.Fatalf("after %q:\n%s", name, cmp.Diff(want, got))
			}
		}
	})
}

func TestAnUnchangedClusterIsNotLookedAtAgain(t *testing.T) {
	p := anyway(fragmented(t, scenario.Fragmentation{Nodes: 40, Pods: 10, Percent: 30, Seed: 1}))
	e := disrupt.NewEngine()
	first := testing.AllocsPerRun(1, func() { disrupt.Decide(p) })
	e.Decide(p)
	for _, name := range []string{"nothing", "a newer generation", "time goes by", "a block is reworded"} {
		t.Run(name, func(t *testing.T) {
			p.Nodes[0].Blocks = []disrupt.Reason{{Code: disrupt.Other, Detail: "for now"}}
			e.Decide(p)
			q := copied(p)
			changes[name](q)
			if again := testing.AllocsPerRun(1, func() { e.Decide(q) }); again > first/20 {
				t.Errorf("%v allocations for a second look, %v for the first", again, first)
			}
		})
	}
}

func BenchmarkUnchanged(b *testing.B) {
	c := fragmented(b, scenario.Fragmentation{Nodes: 2000, Pods: 15, Percent: 30, Topology: true, Seed: 1})
	e := disrupt.NewEngine()
	e.Decide(anyway(c))
	b.ReportAllocs()
	for b.Loop() {
		q := *c
		q.Generation++
		e.Decide(anyway(&q))
	}
}
