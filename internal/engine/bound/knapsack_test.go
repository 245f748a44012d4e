package bound

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// The filling that the knapsack finds must be feasible and worth what the weights prove.
func TestTheKnapsackIsSolved(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &search{}
		for range rapid.IntRange(0, 2).Draw(t, "shared") {
			s.shared = append(s.shared, sharedLimit{most: float64(rapid.IntRange(1, 3).Draw(t, "limit"))})
		}
		m := &instance{price: 1, ledger: -1}
		for range 3 {
			m.room = append(m.room, float64(rapid.IntRange(1, 40).Draw(t, "room")))
		}
		var y []float64
		for i := range rapid.IntRange(1, 12).Draw(t, "rows") {
			r := row{shared: rapid.IntRange(-1, len(s.shared)-1).Draw(t, "group")}
			for range 3 {
				r.req = append(r.req, float64(rapid.IntRange(0, 9).Draw(t, "request")))
			}
			s.rows = append(s.rows, r)
			y = append(y, float64(rapid.IntRange(0, 20).Draw(t, "value")))
			m.rows, m.most = append(m.rows, i), append(m.most, float64(rapid.IntRange(1, 6).Draw(t, "most")))
		}
		worth, filling, w := (&knapsack{s: s}).solve(m, y)
		value, used, groups := 0.0, make([]float64, 3), make([]float64, len(s.shared))
		for _, f := range filling {
			value += f.Amount * y[f.Row]
			if f.Amount > m.most[f.Row]+1e-9 {
				t.Fatalf("%g of row %d, at most %g", f.Amount, f.Row, m.most[f.Row])
			}
			for r, x := range s.rows[f.Row].req {
				used[r] += f.Amount * x
			}
			if g := s.rows[f.Row].shared; g >= 0 {
				groups[g] += f.Amount
			}
		}
		for r, x := range used {
			if x > m.room[r]+1e-6 {
				t.Fatalf("takes %g of %g", x, m.room[r])
			}
		}
		for g, x := range groups {
			if x > s.shared[g].most+1e-6 {
				t.Fatalf("group %d: %g pods, at most %g", g, x, s.shared[g].most)
			}
		}
		if math.Abs(worth-value) > 1e-6*(1+value) {
			t.Fatalf("worth %g by the weights %v, filled for %g", worth, w, value)
		}
	})
}
