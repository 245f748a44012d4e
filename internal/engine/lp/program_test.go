package lp

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// A linear program is solved when its solution and its duals are feasible and cost the same; no other solver is needed
// to tell.
func TestTheLinearProgramIsSolved(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.IntRange(1, 8).Draw(t, "rows")
		ledgers := rapid.IntRange(0, 2).Draw(t, "ledgers")
		var need []float64
		var first []Column
		for i := range rows {
			need = append(need, float64(rapid.IntRange(1, 50).Draw(t, "need")))
			first = append(first, Column{Price: float64(rapid.IntRange(1, 90).Draw(t, "price")), Parts: []Share{{i, float64(rapid.IntRange(1, 5).Draw(t, "amount"))}}})
		}
		for range ledgers {
			need = append(need, float64(rapid.IntRange(0, 3).Draw(t, "times")))
		}
		m := NewProgram(need, rows, first)
		var added []Column
		for range rapid.IntRange(0, 3).Draw(t, "rounds") {
			for range rapid.IntRange(1, 10).Draw(t, "columns") {
				c := Column{Price: float64(rapid.IntRange(0, 90).Draw(t, "price")), Ledger: rapid.IntRange(0, ledgers).Draw(t, "ledger")}
				if c.Ledger == 0 {
					c.Price++
				}
				for i := range rows {
					if n := rapid.IntRange(-4, 6).Draw(t, "amount"); n > 0 {
						c.Parts = append(c.Parts, Share{i, float64(n)})
					}
				}
				added = append(added, c)
				m.Add(c)
			}
			if !m.Solve(math.MaxInt64 / 2) {
				t.Fatal("not solved")
			}
		}
		m.Solve(math.MaxInt64 / 2)
		checkSolved(t, m, need, append(first, added...))
	})
}

func checkSolved(t *rapid.T, m *Program, need []float64, columns []Column) {
	dual := 0.0
	for i, n := range need {
		dual += n * m.Dual[i]
		if i < m.rows && m.Dual[i] < -1e-7 || i >= m.rows && m.Dual[i] > 1e-7 {
			t.Fatalf("dual %d is %g", i, m.Dual[i])
		}
	}
	for _, c := range columns {
		if d := m.Reduced(&c); d < -1e-6 {
			t.Fatalf("column %v would improve the cost by %g", c, -d)
		}
	}
	got := make([]float64, len(need))
	for i, v := range m.Basis {
		if m.Amount[i] < -1e-6 {
			t.Fatalf("a negative amount: %g", m.Amount[i])
		}
		m.each(v, func(j int, x float64) { got[j] += x * m.Amount[i] })
	}
	for i, n := range need {
		if math.Abs(got[i]-n) > 1e-4 {
			t.Fatalf("constraint %d: %g, not %g", i, got[i], n)
		}
	}
	if cost := m.Cost(); math.Abs(cost-dual) > 1e-4*(1+cost) {
		t.Fatalf("cost %g, dual %g", cost, dual)
	}
}
