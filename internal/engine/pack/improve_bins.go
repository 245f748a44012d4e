package pack

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cuttingstock"
)

// makeKinds lists the ways to launch that nothing beats: no other costs as little, has as much of everything and may be
// used by as many.
//
// They are the same for all pods that may be on the same new nodes, so they are made once for those.
func (s *solver) makeKinds(m *cutting) {
	all := slices.Equal(m.pool.affordable, m.pool.cat.All())
	key := binsKey{pool: m.pool}
	for _, shapes := range m.places {
		key.places += placesKey(shapes) + "/"
	}
	if known, ok := s.bins[key]; ok && all {
		m.Bins = known
		return
	}
	s.listKinds(m)
	if all {
		s.bins[key] = m.Bins
	}
}

// listKinds is makeKinds for a pool and places that were not asked for yet: m.Bins in order of price.
func (s *solver) listKinds(m *cutting) {
	var all []cuttingstock.Bin
	sides := s.sidesOf(m)
	for _, t := range m.pool.base.order {
		if !m.pool.affordable.Has(t) {
			continue
		}
		net := make([]float64, len(m.pool.net[t]))
		for r, x := range m.pool.net[t] {
			net[r] = float64(x)
		}
		for _, side := range sides {
			first := len(all)
			for _, at := range m.pool.base.cells {
				price := m.pool.nodePrice(&m.pool.cat.Cells[at], t)
				if price == catalog.NoPrice {
					continue
				}
				access := m.accessTo(t, at) & side
				if access == 0 {
					continue
				}
				k := cuttingstock.Bin{Of: t, Price: max(1, float64(price)), Net: net, Access: access}
				if i := slices.IndexFunc(all[first:], func(o cuttingstock.Bin) bool { return o.Access == access }); i >= 0 {
					all[first+i].Price = min(all[first+i].Price, k.Price)
				} else {
					all = append(all, k)
				}
			}
		}
	}
	slices.SortStableFunc(all, func(a, b cuttingstock.Bin) int { return cmp.Compare(a.Price, b.Price) })
	for _, k := range all {
		if !slices.ContainsFunc(m.Bins, func(o cuttingstock.Bin) bool { return beats(&o, &k) }) {
			m.Bins = append(m.Bins, k)
		}
	}
}

// beats reports whether k, which costs no more, has at least as much of everything and lets at least the same use it.
func beats(k, o *cuttingstock.Bin) bool {
	if o.Access&^k.Access != 0 {
		return false
	}
	for r, x := range o.Net {
		if x > k.Net[r] {
			return false
		}
	}
	return true
}

// accessTo holds the access classes whose pods may be on type t launched in the cell.
func (m *cutting) accessTo(t, cell int) uint64 {
	out := uint64(0)
	for i, shapes := range m.places {
		for _, sh := range shapes {
			if sh.types.Has(t) && slices.Contains(sh.cells, cell) {
				out |= 1 << i
				break
			}
		}
	}
	return out
}

// sidesOf are sets of access classes whose demands on labels that only the pool defines do not contradict each other.
func (s *solver) sidesOf(m *cutting) []uint64 {
	anyone, bySide := uint64(0), map[string]uint64{}
	var names []string
	for i, shapes := range m.places {
		var terms []string
		for _, sh := range shapes {
			terms = append(terms, s.ownTerms(m.pool, sh))
		}
		name := strings.Join(terms, " or ")
		if name == "" || name == s.ownTerms(m.pool, m.pool.base) {
			anyone |= 1 << i
			continue
		}
		if bySide[name] == 0 {
			names = append(names, name)
		}
		bySide[name] |= 1 << i
	}
	if len(names) == 0 {
		return []uint64{anyone}
	}
	var out []uint64
	for _, name := range names {
		out = append(out, anyone|bySide[name])
	}
	return out
}

// ownTerms are the demands of the shape on labels that neither the type nor the way of launching decides.
func (s *solver) ownTerms(p *pool, sh *shape) string {
	var b strings.Builder
	for _, t := range sh.reqs.Terms() {
		k := s.vocab.Key(t.Key)
		if !p.cat.Decides(k) {
			b.WriteString(t.String())
			b.WriteString(", ")
		}
	}
	return b.String()
}
