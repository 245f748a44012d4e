package bound

import (
	"fmt"
	"math"
	"math/big"
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
		var first []column
		for i := range rows {
			need = append(need, float64(rapid.IntRange(1, 50).Draw(t, "need")))
			first = append(first, column{price: float64(rapid.IntRange(1, 90).Draw(t, "price")), parts: []share{{i, float64(rapid.IntRange(1, 5).Draw(t, "amount"))}}, ledger: -1})
		}
		for range ledgers {
			need = append(need, float64(rapid.IntRange(0, 3).Draw(t, "times")))
		}
		m := newMaster(need, rows, first)
		var added []column
		for range rapid.IntRange(0, 3).Draw(t, "rounds") {
			for range rapid.IntRange(1, 10).Draw(t, "columns") {
				c := column{price: float64(rapid.IntRange(0, 90).Draw(t, "price")), ledger: rapid.IntRange(-1, ledgers-1).Draw(t, "ledger")}
				if c.ledger < 0 {
					c.price++
				}
				for i := range rows {
					if n := rapid.IntRange(-4, 6).Draw(t, "amount"); n > 0 {
						c.parts = append(c.parts, share{i, float64(n)})
					}
				}
				added = append(added, c)
				m.add(c)
			}
			if !m.solve(math.MaxInt64 / 2) {
				t.Fatal("not solved")
			}
		}
		m.solve(math.MaxInt64 / 2)
		checkSolved(t, m, need, append(first, added...))
	})
}

func checkSolved(t *rapid.T, m *master, need []float64, columns []column) {
	dual := 0.0
	for i, n := range need {
		dual += n * m.dual[i]
		if i < m.rows && m.dual[i] < -1e-7 || i >= m.rows && m.dual[i] > 1e-7 {
			t.Fatalf("dual %d is %g", i, m.dual[i])
		}
	}
	for _, c := range columns {
		if d := m.reduced(&c); d < -1e-6 {
			t.Fatalf("column %v would improve the cost by %g", c, -d)
		}
	}
	got := make([]float64, len(need))
	for i, v := range m.basis {
		if m.amount[i] < -1e-6 {
			t.Fatalf("a negative amount: %g", m.amount[i])
		}
		m.each(v, func(j int, x float64) { got[j] += x * m.amount[i] })
	}
	for i, n := range need {
		if math.Abs(got[i]-n) > 1e-4 {
			t.Fatalf("constraint %d: %g, not %g", i, got[i], n)
		}
	}
	if cost := m.cost(); math.Abs(cost-dual) > 1e-4*(1+cost) {
		t.Fatalf("cost %g, dual %g", cost, dual)
	}
}

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
			value += f.amount * y[f.row]
			if f.amount > m.most[f.row]+1e-9 {
				t.Fatalf("%g of row %d, at most %g", f.amount, f.row, m.most[f.row])
			}
			for r, x := range s.rows[f.row].req {
				used[r] += f.amount * x
			}
			if g := s.rows[f.row].shared; g >= 0 {
				groups[g] += f.amount
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

func TestWideNumbersAgreeWithBigOnes(t *testing.T) {
	toBig := func(a wide) *big.Int {
		b := new(big.Int).Lsh(new(big.Int).SetUint64(a.hi), 64)
		return b.Add(b, new(big.Int).SetUint64(a.lo))
	}
	top := toBig(widest)
	capped := func(b *big.Int) *big.Int {
		if b.Cmp(top) > 0 {
			return top
		}
		return b
	}
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) uint64 {
			return rapid.Uint64().Draw(t, name) >> rapid.IntRange(0, 63).Draw(t, "shift")
		}
		a, b, n := wide{draw("hi"), draw("lo")}, wide{draw("hi"), draw("lo")}, draw("n")
		shift := rapid.IntRange(0, 63).Draw(t, "by")
		equal := func(what string, got wide, want *big.Int) {
			if toBig(got).Cmp(want) != 0 {
				t.Fatalf("%s of %v and %v, %d: %v, want %s", what, a, b, n, got, want)
			}
		}
		bigN := new(big.Int).SetUint64(n)
		equal("sum", a.add(b), capped(new(big.Int).Add(toBig(a), toBig(b))))
		equal("product", product(a.lo, n), new(big.Int).Mul(new(big.Int).SetUint64(a.lo), bigN))
		equal("multiple", a.times(n), capped(new(big.Int).Mul(toBig(a), bigN)))
		equal("shift", a.shift(shift), capped(new(big.Int).Lsh(toBig(a), uint(shift))))
		difference := new(big.Int).Sub(toBig(a), toBig(b))
		if difference.Sign() < 0 {
			difference.SetInt64(0)
		}
		equal("difference", a.minus(b), difference)
		if a.less(b) != (toBig(a).Cmp(toBig(b)) < 0) {
			t.Fatal(fmt.Sprint(a, b))
		}
		if got, ok := a.whole(); ok {
			want := new(big.Int).Add(toBig(a), big.NewInt(1<<fine-1))
			if want.Rsh(want, fine).Cmp(big.NewInt(got)) != 0 {
				t.Fatalf("whole of %v: %d, want %s", a, got, want)
			}
		} else if a.hi < 1<<38 {
			t.Fatalf("whole of %v does not fit", a)
		}
	})
}
