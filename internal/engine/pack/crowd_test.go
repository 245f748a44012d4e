package pack_test

import (
	"testing"

	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/sim/scenario"
)

// Filling by sizes and kinds at once puts the same pods on a new node as looking at one item after the other.
func TestFillIsThatOfOneItemAfterTheOther(t *testing.T) {
	tried, filled := 0, 0
	for seed := range uint64(6) {
		a, b := pack.FillBothWays(scenario.Generate(400, 60, seed))
		for i := range a {
			tried++
			if a[i] != b[i] {
				t.Errorf("seed %d, instance %d: %s, want %s", seed, i, a[i], b[i])
			}
			if a[i] != "" {
				filled++
			}
		}
	}
	if tried < 500 || filled < tried/2 {
		t.Errorf("only %d instances of %d took pods along: the test shows nothing", filled, tried)
	}
}

// What a plan allocates is counted, so that work for each pod that could be for each class does not come back unseen.
func TestAllocationsOfThePlanAreBounded(t *testing.T) {
	for name, most := range map[string]float64{"generic-1000": 55_000, "generic-5000": 100_000, "prefer-4000": 30_000, "mix-2000": 25_000} {
		for _, w := range passes {
			if w.name != name {
				continue
			}
			p := w.make(t)
			p.Options.Work = -1
			if got := testing.AllocsPerRun(1, func() { pack.Solve(p) }); got > most {
				t.Errorf("%s: the first plan takes %.0f allocations, at most %.0f are due", name, got, most)
			}
		}
	}
}
