package bound

import (
	"math"
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/lp"
)

// exchange adds columns that let pods of a row stand for pods of another that are nowhere harder to carry: a filling with
// the former can be had with the latter in their place. They keep the values in the order that the best ones have anyway,
// which saves the linear program many rounds. A bound doesn't depend on it.
func (s *search) exchange() {
	for hard := range s.rows {
		var easier []int
		for i := range s.rows {
			if s.easier(i, hard) {
				easier = append(easier, i)
			}
		}
		for _, i := range easier {
			// The others follow from one another.
			if !slices.ContainsFunc(easier, func(j int) bool { return s.easier(i, j) }) {
				s.master.Add(lp.Column{Of: notLaunched, Parts: []lp.Share{{Row: i, Amount: 1}, {Row: hard, Amount: -1}}})
			}
		}
	}
}

// easier reports whether pods of row a go wherever pods of row b go, and not the other way about.
func (s *search) easier(a, b int) bool {
	x, y := &s.rows[a], &s.rows[b]
	if x.choice != y.choice || !math.IsInf(x.perHost, 1) || x.shared >= 0 && x.shared != y.shared {
		return false
	}
	same := x.shared == y.shared && math.IsInf(y.perHost, 1)
	for r, amount := range x.req {
		if amount > y.req[r] {
			return false
		}
		same = same && amount == y.req[r]
	}
	return !same
}
