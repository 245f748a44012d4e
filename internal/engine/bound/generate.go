package bound

import (
	"cmp"
	"math"
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/lp"
)

// run finds the best values in four steps, each of which starts from what the one before has found.
//
// At first rows are only summed up: what all of them that may go to the same instances ask for of each resource has to be
// carried, not this many pods of each. Then each row counts for itself. In both, an instance may carry as many pods of a
// row as fit, even if there are fewer; in the third it may carry no more than there are, which matters where pods are few
// for the instances; and in the last, pods can't be cut, see runWhole.
func (s *search) run() {
	s.best = make([]float64, len(s.rows))
	if len(s.rows) == 0 {
		s.converged = true
		return
	}
	s.priceAlone()
	s.summarise()
	s.restart()
	for _, c := range s.seed() {
		s.master.Add(c)
	}
	s.generate(s.budget/4, 0)
	s.spell()
	s.restart()
	s.stopped = ""
	s.generate(s.budget*3/4, headroom)
	if s.capCounts() && s.spent() < s.budget {
		s.priceAlone()
		s.resume()
		s.stopped = ""
		s.generate(s.budget*3/4, headroom)
	}
	if s.spent() < s.budget {
		s.runWhole()
	}
	s.converged = s.stopped == ""
}

// capCounts lets instances carry no more pods of a row than there are. It reports whether that makes a difference.
func (s *search) capCounts() bool {
	different := false
	for i := range s.instances {
		m := &s.instances[i]
		different = different || !slices.Equal(m.fit, m.capped)
		m.most = m.capped
	}
	return different
}

// generate adds columns until the values of the rows can't be improved, or the budget ends.
//
// While it knows few columns the linear program values some rows far too high. So every row can also be had, without any
// instance, for a little more than what it is worth by the best values so far; these ceilings move up with the best values
// and where they are in use when nothing else improves the program. When none is in use the program is the true one.
func (s *search) generate(budget int64, headroom float64) {
	reach, least, patience, idleMost := 0.5, 0.1, patience, budget/16
	if s.wholePods {
		// The best values with pods cut at will are no guide to where those for whole pods are.
		least, patience, idleMost = 0.5, 10*patience, budget
	}
	since, idle, idleFrom := s.bestBound, 0, s.spent()
	s.open = math.Inf(1)
	for {
		s.work.Rounds++
		s.setCeilings(headroom)
		solved := s.master.Solve(min(budget-s.spent(), budget/16))
		before := s.bestBound
		found := s.priceAll(s.trial(reach))
		if s.bestBound > before {
			reach = min(0.9, reach*1.5)
		} else {
			reach = max(least, reach*0.7)
		}
		if s.bestBound > since*(1+closeEnough) {
			since, idle, idleFrom = s.bestBound, 0, s.spent()
		} else if idle++; idle == patience || s.spent()-idleFrom > idleMost {
			s.stopped = "the bound stopped growing, though the linear program was not solved"
			break
		}
		if len(found) == 0 && solved {
			found = s.priceAll(s.trial(1))
			if s.thorough = s.wholePods; s.thorough && len(found) == 0 && !s.near() {
				found = s.priceAll(s.trial(1))
			}
			s.thorough = false
		}
		var dealt []lp.Column
		if !s.summing {
			dealt = s.dealtOut(false)
		}
		inUse, done := s.ceilingsInUse(), solved && (s.near() || len(found)+len(dealt) == 0)
		if solved && len(inUse) == 0 && s.bestBound > 0 {
			s.open = min(s.open, s.master.Cost()/s.bestBound-1)
		}
		if done && len(inUse) == 0 {
			if !s.near() {
				s.stopped = "instances that no more can be said of hold the bound down"
			}
			break
		}
		if s.spent() >= budget {
			s.stopped = "the budget of work ended"
			break
		}
		if done {
			for _, i := range inUse {
				s.ceilings[i] *= 1.2
			}
		}
		for _, c := range append(found, dealt...) {
			s.master.Add(c)
		}
	}
	s.work.Columns += len(s.master.Columns)
	s.work.Pivots += s.master.Pivots
	s.work.Steps = s.spent()
}

// near reports whether no values are much better than the best so far, as far as the program knows columns.
func (s *search) near() bool { return s.master.Cost()-s.bestBound <= closeEnough*s.master.Cost() }

const (
	// closeEnough is the part of the cost by which the values may miss the best ones.
	closeEnough = 1e-4
	// patience is for how many rounds the bound may grow by less than that; a sixteenth of the work ends it, too.
	patience = 30
	// perRound is how many columns a round adds at most.
	perRound = 200
	// perInstance is how many an instance adds at most.
	perInstance = 24
	// perWhole is the same where pods are whole, which takes longer to find.
	perWhole = 3
	// headroom is how far above the best values so far the ceilings are.
	headroom = 0.1
)

// trial are the values to price instances at: a part of the way from the best so far to those of the linear program,
// which swing widely while it knows few columns.
func (s *search) trial(part float64) []float64 {
	y := make([]float64, len(s.rows))
	for i := range y {
		for _, x := range s.sums[i] {
			y[i] += x.Amount * s.master.Dual[x.Row]
		}
		y[i] = s.best[i] + part*(min(max(0, y[i]), s.alone[i])-s.best[i])
	}
	return y
}

// candidate is a column and what it gains per price.
type candidate struct {
	lp.Column
	gain float64
}

// priceAll finds what each instance carries at most at values y, keeps y, scaled so that nothing contradicts it, if that
// proves more than before, and returns columns that improve the program.
func (s *search) priceAll(y []float64) []lp.Column {
	var found []candidate
	over := 1.0
	beyond := make([]float64, len(s.ledgers)) // worth less price of what there is only so many times
	worth := make([]float64, len(s.instances))
	for i := range s.instances {
		m := &s.instances[i]
		worth[i] = math.Inf(1)
		if m.w != nil && m.ledger < 0 {
			worth[i] = s.knapsack.worth(m, m.w, y)
		}
		if worth[i] > m.price*(1+1e-9) {
			var filling []lp.Share
			worth[i], filling, m.w = s.knapsack.solve(m, y)
			if s.wholePods {
				worth[i], filling = s.withWholePods(m, y, m.w, worth[i], filling, true)
			}
			found = s.candidates(found, i, y, filling)
		}
		if m.ledger < 0 {
			over = max(over, worth[i]/m.price)
		}
	}
	bound := s.worthOfAll(y) / over
	for i := range s.instances {
		if m := &s.instances[i]; m.ledger >= 0 {
			beyond[m.ledger] = max(beyond[m.ledger], worth[i]/over-m.price)
		}
	}
	for l, most := range beyond {
		bound -= most * s.ledgers[l].times
	}
	if bound > s.bestBound {
		s.bestBound = bound
		for i := range y {
			s.best[i] = y[i] / over
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(b.gain, a.gain) })
	out := make([]lp.Column, 0, perRound)
	for _, c := range found[:min(len(found), perRound)] {
		out = append(out, c.Column)
	}
	return out
}

// worthOfAll is what all pods are worth at values y.
func (s *search) worthOfAll(y []float64) float64 {
	sum := 0.0
	for i, v := range y {
		if !s.rows[i].dealt {
			sum += v * s.rows[i].count
		}
	}
	for i := range s.deals {
		sum += s.deals[i].worth(y)
	}
	return sum
}

// candidates adds the filling of an instance, and further ones without the rows of those before, as long as they improve
// the program: an instance that is worth too much is so for many rows at once.
func (s *search) candidates(found []candidate, i int, y []float64, filling []lp.Share) []candidate {
	m := &s.instances[i]
	var rest []float64
	for n := range perInstance {
		if len(filling) == 0 || s.wholePods && n == perWhole {
			break
		}
		c := lp.Column{Of: i, Price: m.price, Parts: s.summed(filling), Ledger: m.ledger + 1}
		gain := -s.master.Reduced(&c)
		if gain <= 1e-9*max(m.price, 1e-3) {
			break
		}
		found = append(found, candidate{c, gain / max(m.price, 1e-3)})
		if s.summing {
			break
		}
		if rest == nil {
			rest = slices.Clone(y)
		}
		for _, f := range filling {
			rest[f.Row] = 0
		}
		worth, next, w := s.knapsack.solve(m, rest)
		if s.wholePods {
			_, next = s.withWholePods(m, rest, w, worth, next, false)
		}
		filling = next
	}
	return found
}
