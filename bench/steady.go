package bench

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/sim/scenario"
)

// SteadyInput is a cluster that runs, of which a little changes from one decision to the next. Upstream begins anew each
// time, so that Kerf is compared with itself: an engine that is kept, and one that knows nothing yet.
type SteadyInput struct {
	Name string
	What string
	Slow bool
	// Nodes run; Pending pods wait; Percent of both have changed since the decision before.
	Nodes, Pending, Percent int
}

const (
	steadyClasses = 500
	steadyPools   = 50
)

// SteadyInputs are those of BenchmarkResolve in internal/engine/pack, and smaller ones.
func SteadyInputs() []SteadyInput {
	var out []SteadyInput
	for _, nodes := range []int{500, 5000} {
		for _, percent := range []int{0, 1, 10} {
			for _, waiting := range []string{"quiet", "backlog"} {
				in := SteadyInput{Name: fmt.Sprintf("steady-%d-%s-%d", nodes, waiting, percent), Slow: nodes > 500, Nodes: nodes, Percent: percent, Pending: 2 * nodes}
				what := "all the time"
				if waiting == "quiet" {
					in.Pending = in.Pending * percent / 100
					what = "that are new"
				}
				in.What = fmt.Sprintf("%d running nodes with 15 pods each, of which %d %% have changed since the last decision, and %d pending pods %s", nodes, percent, in.Pending, what)
				out = append(out, in)
			}
		}
	}
	return out
}

// Steadied is what solving again after a change takes.
type Steadied struct {
	Input SteadyInput
	// Changes of nodes and pods before each decision.
	Changes int
	// Kept is the engine that decided before, Anew one that knows nothing.
	Kept, Anew Cost
}

// Steady lets a kept engine decide again after changes, and a new one about the same problem.
//
// Errors: an input that can't be made, plans of the two that differ.
func Steady(in SteadyInput, o Options) (*Steadied, error) {
	s, err := scenario.NewSteady(in.Nodes, in.Pending, steadyClasses, steadyPools, seed)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", in.Name, err)
	}
	pods, nodes := min(in.Pending, 2*in.Nodes*in.Percent/100), in.Nodes*in.Percent/100
	out := &Steadied{Input: in, Changes: pods + nodes}
	engine := pack.NewEngine()
	engine.Solve(s.Problem())
	var p *pack.Problem
	again := func() error {
		s.ChangePods(pods)
		s.ChangeNodes(nodes)
		p = s.Problem()
		return nil
	}
	var kept, anew *plan.Plan
	if out.Kept, err = measure(5, o.Enough, again, func() error {
		kept = engine.Solve(p)
		return nil
	}); err != nil {
		return nil, fmt.Errorf("%s: %w", in.Name, err)
	}
	if out.Anew, err = measure(5, o.Enough, func() error { return nil }, func() error {
		anew = pack.Solve(p)
		return nil
	}); err != nil {
		return nil, fmt.Errorf("%s: %w", in.Name, err)
	}
	same, err := samePlan(kept, anew)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", in.Name, err)
	}
	if !same {
		return nil, fmt.Errorf("%s: the kept engine's plan is not that of a new one", in.Name)
	}
	return out, nil
}

func samePlan(a, b *plan.Plan) (bool, error) {
	x, err := json.Marshal(a)
	if err != nil {
		return false, err
	}
	y, err := json.Marshal(b)
	return bytes.Equal(x, y), err
}

func steadily(rows []*Steadied) *Table {
	t := &Table{Title: "Solving again after a change: the engine that decided before, and a new one (upstream begins anew each time)",
		Head: []string{"input", "nodes", "pending", "changes", "kept s", "anew s", "ratio", "kept MB", "anew MB", "kept allocations", "anew allocations", "allocations per change"}}
	for _, r := range rows {
		each := ""
		if r.Changes > 0 {
			each = fmt.Sprintf("%.0f", float64(r.Kept.Allocs)/float64(r.Changes))
		}
		t.Rows = append(t.Rows, []string{r.Input.Name, fmt.Sprint(r.Input.Nodes), fmt.Sprint(r.Input.Pending), fmt.Sprint(r.Changes), seconds(r.Kept.CPU), seconds(r.Anew.CPU),
			ratio(r.Anew.CPU, r.Kept.CPU), fmt.Sprintf("%.2f", float64(r.Kept.Bytes)/1e6), fmt.Sprintf("%.1f", float64(r.Anew.Bytes)/1e6),
			thousands(r.Kept.Allocs), thousands(r.Anew.Allocs), each})
	}
	return t
}
