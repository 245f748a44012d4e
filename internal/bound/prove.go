package bound

import (
	"math"
	"slices"

	"github.com/kerf-sh/kerf/internal/pack"
)

// result rounds the best values to whole numbers, finds weights for them, and lets the checker say what that proves.
// Where the checker can't follow, because it has to search too many ways to fill machines with whole pods, the values for
// pods cut at will are taken.
func (s *search) result(p *pack.Problem) *Result {
	r := &Result{Converged: s.converged, Stopped: s.stopped, Work: s.work}
	var refused error
	for _, values := range [][]float64{s.best, s.divisible} {
		for _, slack := range []float64{1e-8, 1e-6, 1e-4, 1e-2} {
			if values == nil {
				break
			}
			c := s.certify(values, slack)
			bound, err := Check(p, c)
			if err == nil {
				r.Bound, r.Certificate = bound, c
				return r
			}
			refused = err
		}
	}
	r.Converged, r.Stopped, r.Certificate = false, refused.Error(), &Certificate{}
	return r
}

// certify writes values down, less a little slack for rounding, with weights that prove them.
func (s *search) certify(values []float64, slack float64) *Certificate {
	y := make([]float64, len(s.rows))
	c := &Certificate{}
	for i := range s.rows {
		value := int64(values[i] * (1 - slack) * 1e9)
		y[i] = float64(value) / 1e9
		for _, class := range s.rows[i].classes {
			c.Rows = append(c.Rows, Row{Class: s.placed[class].id, Count: s.placed[class].count, Value: value})
		}
	}
	slices.SortFunc(c.Rows, func(a, b Row) int {
		if a.Class < b.Class {
			return -1
		}
		return 1
	})
	var used [][]float64
	for i := range s.machines {
		m := &s.machines[i]
		if m.ledger < 0 && s.covered(m, y, used, slack) {
			continue
		}
		_, _, w := s.knapsack.solve(m, y)
		w, rounded := s.round(w)
		if !slices.ContainsFunc(used, func(o []float64) bool { return slices.Equal(o, w) }) {
			c.Weights = append(c.Weights, rounded)
			used = append(used, w)
		}
	}
	return c
}

// covered reports whether weights that are in use already prove the machine; those that do come first the next time.
func (s *search) covered(m *machine, y []float64, used [][]float64, slack float64) bool {
	for at, w := range used {
		if s.knapsack.worth(m, w, y) <= m.price*(1-slack/4) {
			copy(used[1:at+1], used[:at])
			used[0] = w
			return true
		}
	}
	return false
}

// round makes weights whole, and gives them back as they now are. They are rounded up: a machine has little more room
// than all of its pods, but there are far more pods that might be worth a trifle more than their room.
func (s *search) round(w []float64) ([]float64, Weights) {
	out := make([]float64, len(w))
	whole := Weights{}
	for r, x := range w {
		name := s.schema.Name(r)
		per := 1e9 * float64(Unit(name)) / s.scale[r]
		n := math.Ceil(x * per)
		if n <= 0 {
			continue
		}
		n = min(n, 1<<62)
		whole[name] = int64(n)
		out[r] = n / per
	}
	return out, whole
}
