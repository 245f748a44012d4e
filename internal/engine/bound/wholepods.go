package bound

import (
	"math"
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/lp"
)

const (
	// quickWidth is how many part fillings a quick look for the worthiest filling with whole pods keeps at a time, wholeWidth
	// how many a thorough one does, and widestSearch how many where it matters. Of diverse pods, it is 170,000 part fillings that
	// have to be looked at for 4.9 cores, and up to 1,600,000 for 20.9: BenchmarkBound/generic.
	quickWidth   = 150
	wholeWidth   = 40_000
	widestSearch = 375_000
	// wholePodsMost is up to how many pods an instance's filling counts as few. Of more, pods stay divisible: little is lost
	// by that, and there are too many ways.
	wholePodsMost = 64
	// triesPerWidth is how many part fillings may be looked at for one instance for each that is kept; in the widest search
	// half of what the checker looks at, see oneSearch.
	triesPerWidth = 5
	leastTries    = 50_000
	// wholeInZones is how much work more than before whole pods are worth where rows are told apart by zone. A row of few pods
	// in each of six zones makes a program six times as large, of which this step takes nearly all the time: for 1,000 pods
	// of 50 classes 2,000,000,000 steps for a thousandth of the bound, see BenchmarkBound/zones.
	wholeInZones = 50_000_000
)

// runWhole finds the best values for whole pods. At first it hopes that quick looks miss no filling: where the values are then,
// few fillings are worth nearly as much as their instance costs, so that thorough looks can go through them all. Instances that
// turn out to have too many keep pods cut at will; in the end those of them that the program launches are tried again with
// more effort.
func (s *search) runWhole() {
	budget := s.budget
	if len(s.deals) > 0 {
		budget = min(budget, 2*s.spent()+wholeInZones)
	}
	s.earlier = append(s.earlier, slices.Clone(s.best))
	cut, proven := slices.Clone(s.best), s.bestBound
	s.wholePods, s.stopped = true, ""
	s.resume()
	s.hopeful = true
	s.generate(s.spent()+(budget-s.spent())/2, headroom)
	s.hopeful, s.stopped, s.bestBound = false, "", 0
	s.generate(budget, headroom)
	if s.bestBound < proven {
		s.best, s.bestBound = cut, proven
	}
	for s.spent() < budget {
		s.earlier = append(s.earlier, slices.Clone(s.best))
		if !s.searchWider() {
			break
		}
		s.resume()
		s.stopped = ""
		s.generate(budget, headroom)
	}
	if s.stopped != "" && budget < s.budget && s.spent() >= budget {
		s.stopped = "the part of the budget ended that whole pods in several zones have"
	}
}

// withWholePods is the worth and filling of an instance that carries whole pods only, given those with pods cut at will.
//
// As long as better columns turn up, a quick look is enough. When none do, a thorough one either shows what the instance is
// worth or that it has too many fillings. Existing nodes and reservations are left alone, as the checker doesn't search
// their fillings.
func (s *search) withWholePods(m *instance, y, w []float64, worth float64, filling []lp.Share, first bool) (float64, []lp.Share) {
	if m.cut || m.ledger >= 0 || s.spent() >= s.budget {
		return worth, filling
	}
	if worth <= m.price*(1+1e-9) {
		return worth, floored(filling)
	}
	if podsOf(filling) > wholePodsMost {
		m.cut = true
		return worth, filling
	}
	width := quickWidth
	if s.thorough && first {
		width = max(m.width, wholeWidth)
	}
	value, whole, closed := s.knapsack.whole(m, y, w, m.price, width)
	if s.hopeful {
		return min(worth, max(m.price, valueOf(whole, y))), whole
	}
	if s.thorough && first && !closed {
		m.cut = true
		return worth, filling
	}
	return min(worth, value), whole
}

func valueOf(filling []lp.Share, y []float64) float64 {
	sum := 0.0
	for _, f := range filling {
		sum += f.Amount * y[f.Row]
	}
	return sum
}

// floored is the filling less what is there of pods that are cut.
func floored(filling []lp.Share) []lp.Share {
	var out []lp.Share
	for _, f := range filling {
		if f.Amount = math.Floor(f.Amount + 1e-9); f.Amount > 0 {
			out = append(out, f)
		}
	}
	return out
}

func podsOf(filling []lp.Share) float64 {
	sum := 0.0
	for _, f := range filling {
		sum += f.Amount
	}
	return sum
}

// searchWider has whole pods tried again, with more effort, on instances that the linear program launches and on which pods
// were cut. It reports whether there are any.
func (s *search) searchWider() bool {
	some := false
	for i, v := range s.master.Basis {
		if v < s.constraints || s.master.Amount[i] < 1e-9 || s.master.Columns[v].Of < 0 {
			continue
		}
		c := &s.master.Columns[v]
		m := &s.instances[c.Of]
		if m.cut && m.width < widestSearch && podsOf(c.Parts) <= wholePodsMost {
			m.cut, m.width, some = false, widestSearch, true
		}
	}
	return some
}
