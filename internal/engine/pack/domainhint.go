package pack

import (
	"maps"
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
)

// Pods that stay together in one domain, and those of a spread that are over when all domains have the same, may go where
// they like. By themselves they go where they are cheapest; but where pods are few, it pays more if those of several
// classes end up in one domain and share new nodes there. So small problems are solved a few times over, with the pods led
// elsewhere each time, and the cheapest plan stays. That ends with the budget of work of the improvement.

// tryDomainHints solves the problem again with pods led elsewhere, as long as there is work left, and returns the cheapest
// solution, improved. What the others took counts as its work.
func (s *solver) tryDomainHints(budget int64) *solver {
	if budget <= 0 || s.stats.Pods > mostHinted || len(s.hinted) == 0 {
		return s
	}
	best, left := s, budget-s.stats.Work
	seen := map[string]bool{}
	try := func(to domainHint) {
		left -= s.trialWork()
		if left <= 0 {
			return
		}
		t := s.memory.place(s.p, s.choice, to)
		if t.hopeful(best) && t.sameElsewhere(best) {
			before := t.frozenDomains()
			t.improve(left)
			left -= t.stats.Work
			if !t.exceedsLimits() && !t.opens(before) && t.cheaperThan(best) {
				best, t = t, best
			}
		}
		s.memory.release(t)
	}
	for _, l := range s.hinted {
		for _, d := range l.domains {
			if !seen[d] {
				seen[d] = true
				try(domainHint{"": d})
			}
		}
	}
	for _, l := range s.hinted {
		for _, d := range l.domains {
			if best.isHinted(l.group, d) {
				continue
			}
			to := domainHint{}
			for name, domain := range best.hint {
				to[name] = domain
			}
			to[l.group.name] = d
			try(to)
		}
	}
	best.stats.Work = budget - max(0, left)
	return best
}

// trialWork is about what solving the problem once more takes, in the units of the improvement.
func (s *solver) trialWork() int64 {
	n := int64(40_000 + 1000*s.stats.Pods + 20*len(s.nodes))
	for _, p := range s.pools {
		n += int64(150 * p.cat.Len())
	}
	return n
}

// hopeful reports whether the first plan costs so little that improving it may give a better one than the other.
func (s *solver) hopeful(o *solver) bool {
	return float64(s.price()) < 1.3*float64(o.price())
}

// sameElsewhere reports whether the solutions differ in nothing but the new nodes to launch: on nodes that exist is as much of
// each class, and the same pods have no place for the same reasons.
func (s *solver) sameElsewhere(o *solver) bool {
	for i, n := range s.nodes {
		if !maps.Equal(byClass(n.placed), byClass(o.nodes[i].placed)) {
			return false
		}
	}
	for i, c := range s.classes {
		if n := c.unplaced(); n != o.classes[i].unplaced() || n > 0 && !slices.Equal(s.reasons(c), o.reasons(o.classes[i])) {
			return false
		}
	}
	return true
}

func byClass(parts []part) map[string]int {
	if len(parts) == 0 {
		return nil
	}
	out := map[string]int{}
	for _, q := range parts {
		out[q.item.class.src.ID] += q.n
	}
	return out
}

// release gives back what a solver that is not needed any more has borrowed.
func (k *memory) release(s *solver) {
	k.borrowed = slices.DeleteFunc(k.borrowed, func(l borrowedPool) bool {
		mine := slices.Contains(s.pools, l.p)
		if mine {
			l.giveBack()
		}
		return mine
	})
	k.overlays = slices.DeleteFunc(k.overlays, func(f *nodeOverlay) bool {
		if f == s.overlay {
			f.to.spare = append(f.to.spare, f)
		}
		return f == s.overlay
	})
}

func (s *solver) price() catalog.MicroUSD {
	sum := catalog.MicroUSD(0)
	for _, m := range s.newNodes {
		sum += m.price
	}
	return sum
}

// cheaperThan compares by price, then by number of new nodes.
func (s *solver) cheaperThan(o *solver) bool {
	if a, b := s.price(), o.price(); a != b {
		return a < b
	}
	return len(s.newNodes) < len(o.newNodes)
}
