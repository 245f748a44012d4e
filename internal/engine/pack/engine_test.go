package pack_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/sim/scenario"
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
	for range rapid.IntRange(0, 3).Draw(t, "events") {
		changeNodes(t, &q)
	}
	if rapid.IntRange(0, 3).Draw(t, "daemons go") == 0 {
		q.Daemons = nil
	}
	return &q
}

// changeNodes lets one thing happen to the nodes and the pods on them.
func changeNodes(t *rapid.T, q *pack.Problem) {
	q.Nodes = slices.Clone(q.Nodes)
	anyNode := func() int { return rapid.IntRange(0, len(q.Nodes)-1).Draw(t, "node") }
	event := rapid.IntRange(0, 5).Draw(t, "event")
	if len(q.Nodes) == 0 {
		return
	}
	at := anyNode()
	n := *q.Nodes[at]
	n.Pods, n.Used = slices.Clone(n.Pods), nil
	switch event {
	case 0: // a pod is bound; it may still be listed as pending
		if len(q.Pending) == 0 {
			return
		}
		i := rapid.IntRange(0, len(q.Pending)-1).Draw(t, "bound")
		n.Pods = append(n.Pods, q.Pending[i])
		if rapid.Bool().Draw(t, "seen") {
			q.Pending = slices.Delete(slices.Clone(q.Pending), i, i+1)
		}
	case 1: // a pod is on its way out
		if len(n.Pods) == 0 {
			return
		}
		pod := *n.Pods[0]
		pod.Terminating, pod.Lingers = true, rapid.Bool().Draw(t, "lingers")
		n.Pods[0] = &pod
	case 2: // a pod ends
		if len(n.Pods) == 0 {
			return
		}
		n.Pods = n.Pods[1:]
	case 3: // another node like it comes
		n.Name, n.Hostname, n.Labels = fmt.Sprintf("%s-%d", n.Name, len(q.Nodes)), "", maps.Clone(n.Labels)
		delete(n.Labels, requirement.Hostname)
		n.Pods = nil
		q.Nodes = slices.Insert(q.Nodes, anyNode(), &n)
		return
	case 4: // the node goes, and its pods wait for another
		q.Nodes = slices.Delete(q.Nodes, at, at+1)
		q.Pending = slices.Concat(q.Pending, n.Pods)
		return
	case 5:
		n.Deleting = true
		q.Pending = slices.Concat(q.Pending, n.Pods)
	}
	q.Nodes[at] = &n
}

func TestAnEngineGivesThePlansOfSolve(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := pack.NewEngine()
		p := drawProblem(t, true)
		first := p
		for range 4 {
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
	again := *p
	again.Pending = again.Pending[1:]
	e.Solve(&again)
	if w := e.Worked(); w != (pack.Worked{}) {
		t.Errorf("worked out anew: %+v", w)
	}
	problems := []*pack.Problem{p, &again, p, &again}
	second := testing.AllocsPerRun(len(problems)-1, func() {
		e.Solve(problems[0])
		problems = problems[1:]
	})
	if second > first/8 {
		t.Errorf("%v allocations at first, %v when a pod has gone", first, second)
	}
}

func TestAnEngineKeepsThePlanOfWhatDidNotChange(t *testing.T) {
	s, err := scenario.NewSteady(100, 300, 50, 10, 1)
	if err != nil {
		t.Fatal(err)
	}
	e := pack.NewEngine()
	first := e.Solve(s.Problem())
	p := s.Problem()
	var second *plan.Plan
	if n := testing.AllocsPerRun(1, func() { second = e.Solve(p) }); n > 200 {
		t.Errorf("%v allocations where nothing has changed", n)
	}
	if second.Generation != p.Generation {
		t.Errorf("the plan is of generation %d, the problem of %d", second.Generation, p.Generation)
	}
	if bytesOf(t, second) != bytesOf(t, pack.Solve(p)) || first.Generation == second.Generation {
		t.Error("the plan is not that of the problem")
	}
	old := s.Problem()
	old.Pools[0].Limits = res.List{res.CPU: 1 << 40} // age counts from here on
	e.Solve(old)
	older := *old
	older.Now = older.Now.Add(time.Hour)
	if bytesOf(t, e.Solve(&older)) != bytesOf(t, pack.Solve(&older)) {
		t.Error("the plan is that of pods that waited less")
	}
}

// steadyAllocations is what an engine allocates for a change of some pods and nodes, in a cluster of so many nodes.
func steadyAllocations(t *testing.T, nodes, pods, changed int) float64 {
	t.Helper()
	s, err := scenario.NewSteady(nodes, pods, 50, 10, 1)
	if err != nil {
		t.Fatal(err)
	}
	e := pack.NewEngine()
	var problems []*pack.Problem
	for range 5 {
		s.ChangePods(pods)
		s.ChangeNodes(changed)
		p := s.Problem()
		p.Options.Work = -1
		problems = append(problems, p)
	}
	e.Solve(problems[0]) // AllocsPerRun solves the second without counting
	n := testing.AllocsPerRun(3, func() {
		problems = problems[1:]
		e.Solve(problems[0])
	})
	if w := e.Worked(); w.Nodes > changed || w.Kinds+w.Catalogs+w.Pools > 0 {
		t.Errorf("%d of %d nodes changed; worked out anew: %+v", changed, nodes, w)
	}
	return n
}

// What it costs to solve again is set by what has changed, not by the size of the cluster.
func TestSolvingAgainCostsWhatHasChanged(t *testing.T) {
	small, large := steadyAllocations(t, 200, 20, 10), steadyAllocations(t, 2000, 20, 10)
	if large > 1.5*small {
		t.Errorf("%v allocations for a change in 200 nodes, %v for one as large in 2000", small, large)
	}
	one, ten := steadyAllocations(t, 2000, 20, 10), steadyAllocations(t, 2000, 20, 100)
	if ten-one > 90*20 {
		t.Errorf("%v allocations when 10 nodes have changed, %v when 100 have", one, ten)
	}
	if t.Log(small, large, one, ten); large > 4000 {
		t.Errorf("%v allocations for 20 pods and 10 nodes", large)
	}
}
