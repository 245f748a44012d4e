package cuttingstock

import (
	"testing"

	"github.com/kerf-sh/kerf/internal/engine/lp"

	"pgregory.net/rapid"
)

func TestAFillingWithAPodHasThatPod(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawModel(t, 5, 1)
		m.fluid = newFluidDuals(m)
		b := newKnapsack(m)
		worth := make([]float64, len(m.Rows))
		for i := range worth {
			worth[i] = float64(rapid.IntRange(1, 400).Draw(t, "worth"))
		}
		for _, row := range m.fluid.capped {
			col, v := b.with(0, row, worth)
			checkFilling(t, m, 0, col, worth, v)
			has := false
			for _, p := range col.Parts {
				has = has || p.Row == row && p.Amount == 1
			}
			if !has {
				t.Fatalf("no pod of row %d in %v", row, col.Parts)
			}
		}
	})
}

// checkFilling fails unless the column fits the kind, keeps to caps and demands, and is worth what is said.
func checkFilling(t *rapid.T, m *Problem, k int, col lp.Column, worth []float64, said float64) {
	used, inGroup, sum := make([]float64, len(m.Bins[k].Net)), 0.0, 0.0
	for _, p := range col.Parts {
		for j, x := range m.Rows[p.Row].Req {
			used[j] += x * p.Amount
		}
		if p.Amount > m.Rows[p.Row].Demand {
			t.Fatalf("%g pods of row %d, of which there are %g", p.Amount, p.Row, m.Rows[p.Row].Demand)
		}
		if m.Rows[p.Row].Group >= 0 {
			inGroup += p.Amount
		}
		sum += worth[p.Row] * p.Amount
	}
	for j, x := range used {
		if x > m.Bins[k].Net[j] {
			t.Fatalf("%g of resource %d used of %g", x, j, m.Bins[k].Net[j])
		}
	}
	if inGroup > 1 {
		t.Fatalf("%g pods on a host that takes one", inGroup)
	}
	if sum != said {
		t.Fatalf("worth %g, not %g", sum, said)
	}
}
