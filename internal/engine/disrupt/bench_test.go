package disrupt_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/bound"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/sim/scenario"
)

// anyway is the problem of a cluster in which every node may go.
func anyway(c *pack.Problem) *disrupt.Problem {
	p := &disrupt.Problem{Cluster: c}
	for _, n := range c.Nodes {
		p.Nodes = append(p.Nodes, disrupt.Node{Name: n.Name})
	}
	for _, pool := range c.Pools {
		p.Pools = append(p.Pools, disrupt.Pool{Name: pool.Name, Policy: disrupt.WhenEmptyOrUnderutilized})
	}
	return p
}

// least is a proven floor of what new nodes for the cluster's pods cost, wherever they are packed.
func least(c *pack.Problem) catalog.MicroUSD {
	q := *c
	q.Nodes = nil
	for _, n := range c.Nodes {
		for _, pod := range n.Pods {
			again := *pod
			again.Node = ""
			q.Pending = append(q.Pending, &again)
		}
	}
	return bound.Lower(&q, pack.Solve(&q), bound.Budget{}).Bound
}

func fragmented(t testing.TB, f scenario.Fragmentation) *pack.Problem {
	t.Helper()
	c, err := scenario.Fragmented(f)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// BenchmarkDecide is a complete round over a cluster whose load has gone.
func BenchmarkDecide(b *testing.B) {
	for _, f := range []scenario.Fragmentation{
		{Nodes: 300}, {Nodes: 700}, {Nodes: 2000}, {Nodes: 2000, Topology: true}, {Nodes: 2000, Spot: true}, {Nodes: 2000, Spot: true, Topology: true},
	} {
		f.Pods, f.Percent, f.Seed = 15, 30, 1
		b.Run(fmt.Sprintf("nodes=%d/spot=%v/topology=%v", f.Nodes, f.Spot, f.Topology), func(b *testing.B) {
			p := anyway(fragmented(b, f))
			p.Options.PodPrice, p.Options.NodePrice, p.Options.Overlap = 1_000, 10_000, 3*time.Minute // as the controller has them
			b.ReportAllocs()
			b.ResetTimer()
			var d *disrupt.Decision
			for b.Loop() {
				d = disrupt.Decide(p)
			}
			b.ReportMetric(float64(least(p.Cluster))/1e6, "$/h-floor")
			b.ReportMetric(float64(d.Before)/1e6, "$/h-before")
			b.ReportMetric(float64(d.After)/1e6, "$/h-after")
			b.ReportMetric(float64(len(d.Moves)), "moves")
			b.ReportMetric(float64(d.Stats.Questions), "questions")
		})
	}
}

// carryOut is the cluster after the decision, every new node of the first type that it lists.
func carryOut(c *pack.Problem, d *disrupt.Decision) *pack.Problem {
	return scenario.CarryOut(c, d)
}
