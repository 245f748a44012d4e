package disrupt_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/verify"
	"github.com/kerf-sh/kerf/internal/sim/scenario"
)

// drawRoll is a problem with nodes that are due, in some order.
func drawRoll(t *rapid.T) (p *disrupt.Problem, due []string) {
	p = drawProblem(t)
	for _, n := range p.Cluster.Nodes {
		if rapid.IntRange(0, 2).Draw(t, "due") > 0 {
			due = append(due, n.Name)
		}
	}
	for i := range p.Pools {
		if rapid.IntRange(0, 2).Draw(t, "drift budget") == 0 {
			p.Pools[i].Allowed = map[disrupt.Cause]int{disrupt.Drifted: rapid.IntRange(0, 4).Draw(t, "drifted")}
		}
	}
	return p, rapid.Permutation(due).Draw(t, "order")
}

func TestRollsSurviveTheSecondOpinion(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, due := drawRoll(t)
		before := bytesOf(t, p)
		d := disrupt.Replace(p, disrupt.Drifted, due)
		for _, v := range verify.Replace(p, disrupt.Drifted, due, d) {
			t.Fatalf("%s\n%s", v, d)
		}
		if bytesOf(t, p) != before {
			t.Fatal("the problem was changed")
		}
		for n := range d.Moves {
			part := *d
			part.Moves = d.Moves[:n]
			for _, v := range verify.Replace(p, disrupt.Drifted, due, &part) {
				if v.Rule != "node" && v.Where != "decision" {
					t.Fatalf("the first %d moves: %s\n%s", n, v, d)
				}
			}
		}
	})
}

func TestSameRollWhateverTheOrderOfTheCluster(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, due := drawRoll(t)
		want := bytesOf(t, disrupt.Replace(p, disrupt.Drifted, due))
		if got := bytesOf(t, disrupt.Replace(shuffled(p, rapid.Uint64().Draw(t, "seed")), disrupt.Drifted, due)); got != want {
			t.Fatal("shuffled input gives another decision:\n" + cmp.Diff(want, got))
		}
	})
}

// One node that can't go must not change what becomes of the first that can.
func TestANodeThatIsStuckHoldsUpNoOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, due := drawRoll(t)
		for i := range p.Pools {
			p.Pools[i].Allowed, p.Pools[i].Static = nil, false
		}
		for _, pool := range p.Cluster.Pools {
			pool.Limits = nil
		}
		d := disrupt.Replace(p, disrupt.Drifted, due)
		w := pack.NewWhatIf(p.Cluster)
		for _, k := range d.Kept {
			if k.Reasons[0].Code != disrupt.PodHasNoPlace || len(d.Moves) > 0 {
				continue
			}
			at := -1
			for i := range w.Len() {
				if w.Node(i).Name == k.Node {
					at = i
				}
			}
			if a := w.Try([]int{at}, pack.Rules{Launch: true, Anyhow: true}); a.Refusal == pack.Fine {
				t.Fatalf("%s stays, and could go\n%s", k.Node, d)
			}
		}
	})
}

// Rolling round by round ends with no due node left that could go, under any budget above nothing.
func TestRollsEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, due := drawRoll(t)
		most := len(due)
		for round := 0; ; round++ {
			d := disrupt.Replace(p, disrupt.Drifted, due)
			if len(d.Moves) == 0 {
				return
			}
			if round > most {
				t.Fatalf("%d nodes are not rolled after %d rounds\n%s", most, round, d)
			}
			next := *p
			next.Cluster = scenario.CarryOut(p.Cluster, d)
			next.Nodes = nil
			for _, n := range next.Cluster.Nodes {
				next.Nodes = append(next.Nodes, disrupt.Node{Name: n.Name})
			}
			due = slices.DeleteFunc(slices.Clone(due), func(name string) bool {
				return slices.ContainsFunc(d.Moves, func(m disrupt.Move) bool { return slices.Contains(m.Nodes, name) })
			})
			p = &next
		}
	})
}

func BenchmarkRoll(b *testing.B) {
	p := anyway(fragmented(b, scenario.Fragmentation{Nodes: 1000, Pods: 15, Percent: 60, Topology: true, Seed: 1}))
	var due []string
	for _, n := range p.Cluster.Nodes {
		due = append(due, n.Name)
	}
	for _, tc := range []struct {
		name string
		most int
	}{{"within ten percent", 100}, {"without a budget", 1000}} {
		b.Run(tc.name, func(b *testing.B) {
			p.Pools[0].Allowed = map[disrupt.Cause]int{disrupt.Drifted: tc.most}
			for b.Loop() {
				d := disrupt.Replace(p, disrupt.Drifted, due)
				b.ReportMetric(float64(len(d.Moves)), "moves")
				b.ReportMetric(float64(d.Stats.Work), "work")
			}
		})
	}
}
