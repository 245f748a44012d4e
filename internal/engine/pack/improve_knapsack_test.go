package pack

import (
	"testing"

	"pgregory.net/rapid"
)

func TestAFillingWithAPodHasThatPod(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawModel(t, 5, 1)
		m.fluid = newFluidDuals(m)
		b := newKnapsack(m)
		worth := make([]float64, len(m.rows))
		for i := range worth {
			worth[i] = float64(rapid.IntRange(1, 400).Draw(t, "worth"))
		}
		for _, row := range m.fluid.capped {
			col, v := b.with(0, row, worth)
			checkFilling(t, m, 0, col, worth, v)
			has := false
			for i, r := range col.rows {
				has = has || r == row && col.n[i] == 1
			}
			if !has {
				t.Fatalf("no pod of row %d in %v %v", row, col.rows, col.n)
			}
		}
	})
}

// checkFilling fails unless the column fits the kind, keeps to caps and demands, and is worth what is said.
func checkFilling(t *rapid.T, m *cuttingStock, k int, col pattern, worth []float64, said float64) {
	used, inGroup, sum := make([]float64, len(m.bins[k].net)), 0.0, 0.0
	for i, r := range col.rows {
		for j, x := range m.rows[r].req {
			used[j] += x * col.n[i]
		}
		if col.n[i] > m.rows[r].demand {
			t.Fatalf("%g pods of row %d, of which there are %g", col.n[i], r, m.rows[r].demand)
		}
		if m.rows[r].group >= 0 {
			inGroup += col.n[i]
		}
		sum += worth[r] * col.n[i]
	}
	for j, x := range used {
		if x > m.bins[k].net[j] {
			t.Fatalf("%g of resource %d used of %g", x, j, m.bins[k].net[j])
		}
	}
	if inGroup > 1 {
		t.Fatalf("%g pods on a host that takes one", inGroup)
	}
	if sum != said {
		t.Fatalf("worth %g, not %g", sum, said)
	}
}
