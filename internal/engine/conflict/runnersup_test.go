package conflict_test

import (
	"testing"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/conflict"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/sim/scenario"
)

// TestNoRunnerUpIsCheaper: what costs less than what was launched was not to be had, and is not named.
func TestNoRunnerUpIsCheaper(t *testing.T) {
	p := &pack.Problem{
		Now: scenario.Start, Pending: scenario.GeneratePods(6, 1), Options: pack.Options{WellKnown: scenario.WellKnown(), Upkeep: 1000},
		Pools: []*cluster.Pool{{Name: "default", Types: scenario.GenerateTypes(30, 1)}},
	}
	out := pack.Solve(p)
	if len(out.NewNodes) == 0 || len(conflict.RunnersUp(p, out, 0, 3).RunnersUp) != 3 {
		t.Fatalf("%d new nodes", len(out.NewNodes))
	}
	out.NewNodes[0].Price *= 100 // as if all of them had been used up
	for _, r := range conflict.RunnersUp(p, out, 0, 3).RunnersUp {
		if len(r.Unplaced) == 0 {
			t.Errorf("%s is named, and costs less than the %d of what was launched", r.Text(p.Options.Currency), out.NewNodes[0].Price)
		}
	}
}
