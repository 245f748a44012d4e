package bound

import (
	"math"
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/engine/catalog"

	"github.com/kerf-sh/kerf/internal/engine/pack"
)

// result rounds the best values to whole numbers, finds weights for them, and lets the checker say what that proves.
// Where the checker can't follow, because it has to search too many ways to fill instances with whole pods, values that were
// found earlier are taken, in the end those for pods cut at will.
func (s *search) result(p *pack.Problem, price catalog.MicroUSD) *Result {
	r := &Result{Converged: s.converged, Stopped: s.stopped, Open: -1, Work: s.work}
	if !math.IsInf(s.open, 1) && !s.work.Rounded {
		r.Open = max(0, s.open)
	}
	var refused error
	slices.Reverse(s.earlier)
	for _, values := range append([][]float64{s.best}, s.earlier...) {
		for _, slack := range []float64{1e-8, 1e-6, 1e-4, 1e-2} {
			c := s.certify(values, slack)
			bound, err := check(p, c, s.memory)
			if err == nil {
				r.Bound, r.Certificate = bound, c
				s.raise(p, r, price)
				return r
			}
			refused = err
		}
	}
	r.Converged, r.Stopped, r.Certificate = false, refused.Error(), &Certificate{}
	return r
}

// wholeMost is up to how many pods the checker is asked to go through all ways to serve them.
const wholeMost = 100

// raise has the checker go through the ways to serve the pods with whole instances, as far as needed to show that none is
// cheaper than price, or, if there are too many, than something between price and what is proven already.
func (s *search) raise(p *pack.Problem, r *Result, price catalog.MicroUSD) {
	if s.work.Pods > wholeMost || len(r.Certificate.Rows) == 0 {
		return
	}
	base, full := r.Bound, price-r.Bound
	try := func(more catalog.MicroUSD) bool {
		if more <= 0 {
			return false
		}
		c := *r.Certificate
		c.Whole = int64(more) * 1000
		bound, err := check(p, &c, s.memory)
		if err != nil {
			return false
		}
		r.Bound, r.Certificate = bound, &c
		return true
	}
	if try(full) {
		return
	}
	for part := catalog.MicroUSD(8); part > 1; part /= 2 {
		if !try(full/part) || r.Bound < base+full/part {
			return
		}
	}
}

// certify writes values down, less a little slack for rounding, with weights that prove them.
func (s *search) certify(values []float64, slack float64) *Certificate {
	c := &Certificate{}
	whole := make([]int64, len(s.rows))
	y := make([]float64, len(s.rows))
	for i := range s.rows {
		whole[i] = int64(values[i] * (1 - slack) * 1e9)
		y[i] = float64(whole[i]) / 1e9
	}
	var used [][]float64
	proof := make([][]float64, len(s.instances)) // the weights that prove each instance
	for i := range s.instances {
		m := &s.instances[i]
		if m.ledger < 0 {
			if proof[i] = s.covered(m, y, used, slack); proof[i] != nil {
				continue
			}
		}
		_, _, w := s.knapsack.solve(m, y)
		w, rounded := s.round(w)
		proof[i] = w
		if !slices.ContainsFunc(used, func(o []float64) bool { return slices.Equal(o, w) }) {
			c.Weights = append(c.Weights, rounded)
			used = append(used, w)
		}
	}
	zones := map[int]map[string]int64{} // by class
	for i := range s.rows {
		for _, class := range s.rows[i].classes {
			value := whole[i]
			if s.work.Rounded {
				value = max(value, s.lifted(i, class, proof))
			}
			r := Row{Class: s.placed[class].id, Count: s.placed[class].count, Value: value}
			if !s.rows[i].dealt {
				c.Rows = append(c.Rows, r)
				continue
			}
			if zones[class] == nil {
				zones[class] = map[string]int64{}
				r.Value, r.Zones = 0, zones[class]
				c.Rows = append(c.Rows, r)
			}
			zones[class][s.zoneOfChoice[s.rows[i].choice]] = value
		}
	}
	slices.SortFunc(c.Rows, func(a, b Row) int { return strings.Compare(a.Class, b.Class) })
	return c
}

// covered are weights in use that already prove the instance; those that do come first the next time. It is nil when there
// are none.
func (s *search) covered(m *instance, y []float64, used [][]float64, slack float64) []float64 {
	for at, w := range used {
		if s.knapsack.worth(m, w, y) <= m.price*(1-slack/4) {
			copy(used[1:at+1], used[:at])
			used[0] = w
			return w
		}
	}
	return nil
}

// lifted is what a pod of the class may be worth, in nano-USD, without any proof being the weaker for it, when its
// requests were rounded down for the search: as much as its true requests cost by the weights of every instance that
// carries it.
func (s *search) lifted(row, class int, proof [][]float64) int64 {
	req := s.scaled(s.schema.Vector(s.placed[class].src.Requests))
	least := math.Inf(1)
	for i := range s.instances {
		m := &s.instances[i]
		if !s.inSet(m.set, &s.rows[row]) {
			continue
		}
		cost, fits := 0.0, true
		for r, x := range req {
			cost += x * proof[i][r]
			fits = fits && (x == 0 || x <= m.room[r]+1e-9)
		}
		if fits || m.ledger >= 0 {
			least = min(least, cost)
		}
	}
	if math.IsInf(least, 1) {
		return 0
	}
	return int64(least * 1e9 * (1 - 1e-9))
}

// round makes weights whole, and gives them back as they now are. They are rounded up: an instance has little more room
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
