package pack

import (
	"testing"

	"pgregory.net/rapid"
)

// The search is cut off after so many steps, but new nodes for a handful of pods are searched to the end.
func TestDiveFindsTheWorthiestFillingOfSmallMachines(t *testing.T) {
	searched := 0
	rapid.Check(t, func(t *rapid.T) {
		m := drawModel(t, 5, 3)
		m.fluid = newFluidDuals(m)
		b := newKnapsack(m)
		worth := make([]float64, len(m.rows))
		for i := range worth {
			worth[i] = float64(rapid.IntRange(1, 400).Draw(t, "worth"))
		}
		for k := range m.bins {
			b.choose(&m.bins[k], worth)
			b.empty(&m.bins[k])
			clear(b.found)
			got := b.deepen(k, worth, 0, 0)
			checkFilling(t, m, k, b.pattern(k), worth, got)
			if b.search.steps < 0 {
				continue // cut off
			}
			searched++
			if want := worthiest(m, k, worth); got < want*(1-1e-3) {
				t.Fatalf("the filling found of kind %d is worth %g, the best one %g", k, got, want)
			}
		}
	})
	if searched < 50 {
		t.Errorf("only %d searches came to their end: the test shows nothing", searched)
	}
}

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

// worthiest tries all fillings.
func worthiest(m *cuttingStock, k int, worth []float64) float64 {
	room, capped, best := append([]float64{}, m.bins[k].net...), 0, 0.0
	var from func(i int, value float64)
	from = func(i int, value float64) {
		if best = max(best, value); i == len(m.rows) {
			return
		}
		r := m.rows[i]
		n := 0
		for ; ; n++ {
			from(i+1, value+worth[i]*float64(n))
			fits := float64(n+1) <= r.demand && (r.group < 0 || capped == 0)
			for j, x := range r.req {
				fits = fits && x <= room[j]
			}
			if !fits {
				break
			}
			for j, x := range r.req {
				room[j] -= x
			}
			if r.group >= 0 {
				capped++
			}
		}
		for j, x := range r.req {
			room[j] += x * float64(n)
		}
		if r.group >= 0 {
			capped -= n
		}
	}
	from(0, 0)
	return best
}
