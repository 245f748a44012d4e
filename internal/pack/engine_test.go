package pack_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/kerf-sh/kerf/internal/cluster"
	"github.com/kerf-sh/kerf/internal/pack"
	"github.com/kerf-sh/kerf/internal/res"
	"github.com/kerf-sh/kerf/internal/scenario"
)

// changed is the problem some moments later: pods have come or gone, a node has changed, a pool is used more.
func changed(t *rapid.T, p *pack.Problem) *pack.Problem {
	q := *p
	q.Pending = slices.Clone(p.Pending)
	if len(q.Pending) > 1 && rapid.Bool().Draw(t, "a pod goes") {
		at := rapid.IntRange(0, len(q.Pending)-1).Draw(t, "pod")
		q.Pending = slices.Delete(q.Pending, at, at+1)
	}
	if len(p.Nodes) > 0 && rapid.Bool().Draw(t, "a node changes") {
		q.Nodes = slices.Clone(p.Nodes)
		n := *q.Nodes[0]
		n.Allocatable = res.List{res.CPU: 1500, res.Memory: 4 << 30, res.Pods: 10}
		n.Taints = []cluster.Taint{{Key: "special", Effect: cluster.NoSchedule}}
		q.Nodes[0] = &n
	}
	if rapid.Bool().Draw(t, "a pool changes") {
		q.Pools = slices.Clone(p.Pools)
		pool := *q.Pools[0]
		pool.Used = res.List{res.CPU: 1000, res.Nodes: 1}
		pool.Weight = 1 - pool.Weight
		if rapid.Bool().Draw(t, "its labels too") {
			pool.Labels = map[string]string{"team": "red"}
		}
		q.Pools[0] = &pool
	}
	if rapid.IntRange(0, 3).Draw(t, "daemons go") == 0 {
		q.Daemons = nil
	}
	return &q
}

func TestAnEngineGivesThePlansOfSolve(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := pack.NewEngine()
		p := drawProblem(t, true)
		first := p
		for range 3 {
			if got, want := bytesOf(t, e.Solve(p)), bytesOf(t, pack.Solve(p)); got != want {
				t.Fatalf("the engine's plan differs:\n%s\n%s", got, want)
			}
			p = changed(t, p)
		}
		other := drawProblem(t, true)
		other.Pools[0].Types = first.Pools[0].Types
		for _, p := range []*pack.Problem{other, first} {
			if got, want := bytesOf(t, e.Solve(p)), bytesOf(t, pack.Solve(p)); got != want {
				t.Fatalf("the engine's plan differs after another problem:\n%s\n%s", got, want)
			}
		}
	})
}

// What an engine works out the second time must not grow with what did not change.
func TestAnEngineDoesNotCompileAgain(t *testing.T) {
	p, err := scenario.Large(20, 20, 300, 10, 1)
	if err != nil {
		t.Fatal(err)
	}
	p.Options.Work = -1
	e := pack.NewEngine()
	first := testing.AllocsPerRun(1, func() { pack.Solve(p) })
	e.Solve(p)
	again := testing.AllocsPerRun(1, func() { e.Solve(p) })
	if again > first/8 {
		t.Errorf("%v allocations at first, %v when nothing has changed", first, again)
	}
}
