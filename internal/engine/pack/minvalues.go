package pack

import (
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// minValuesShort finds a key for which the types leave fewer values than the requirements of the shape demand.
func (s *solver) minValuesShort(sh *shape, types catalog.TypeSet) (key requirement.Key, want, have int, short bool) {
	for k, set := range sh.reqs.All {
		if set.MinValues() == 0 {
			continue
		}
		n := s.countValues(sh, types, k, set)
		if n < set.MinValues() && (!short || s.vocab.Name(k) < s.vocab.Name(key)) {
			key, want, have, short = k, set.MinValues(), n, true
		}
	}
	return key, want, have, short
}

// leavesTooFew reports whether the pool demands more choice of the new node than next would leave, though not more than
// there is now. Where pods must be comes before choice with MinValuesBestEffort.
func (s *solver) leavesTooFew(m *newNode, next *shape) bool {
	if !m.pool.hasMinValues || s.p.Options.MinValuesBestEffort {
		return false
	}
	types := m.types.Clone()
	types.And(next.types)
	_, _, _, short := s.minValuesShort(next, types)
	if !short {
		return false
	}
	_, _, _, already := s.minValuesShort(m.shape, m.types)
	return !already
}

// countValues counts the values that stay possible for a key; zone and capacity type count where they can be launched.
func (s *solver) countValues(sh *shape, types catalog.TypeSet, k requirement.Key, set requirement.Set) int {
	seen := map[string]bool{}
	isCell := false
	for _, at := range sh.cells {
		cell := &sh.pool.cat.Cells[at]
		if value, ok := cell.Label(k); ok {
			isCell = true
			some := types.Clone()
			some.And(cell.Available)
			if some.Any() && set.Has(value) {
				seen[value] = true
			}
		}
	}
	if isCell {
		return len(seen)
	}
	if n := sh.pool.cat.CountValues(types, k, set); n > 0 {
		return n
	}
	if !set.Complement() {
		return set.Len()
	}
	return 0
}

// hasTooFew reports whether the new node has less choice than the pool demands, which MinValuesBestEffort allows where its first pod
// leaves no more.
func (s *solver) hasTooFew(m *newNode) bool {
	_, _, _, short := s.minValuesShort(m.shape, m.types)
	return short
}

// leavesChoice reports whether a new node of the shape for one pod of the item leaves as many values as the pool demands.
func (s *solver) leavesChoice(it *podGroup, sh *shape) bool {
	if !sh.pool.hasMinValues || s.p.Options.MinValuesBestEffort {
		return true
	}
	_, _, _, short := s.minValuesShort(sh, sh.pool.carrying(sh, it.class.req, it.class.src.HostPorts))
	return !short
}
