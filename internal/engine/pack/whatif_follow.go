package pack

import "slices"

type followedDomain struct {
	group  *group
	domain string
}

// noteFollowed remembers how many pods were placed in domains where others count on them or they on others.
func (w *WhatIf) noteFollowed(parts []part, domain func(*group) (string, bool)) {
	for _, q := range parts {
		for _, g := range q.item.class.topo.wideIn {
			if d, ok := domain(g); ok && g.kind != repelling {
				w.arrived[followedDomain{g, d}] += q.n
			}
		}
		for i := range q.item.class.topo.wide {
			g := q.item.class.topo.wide[i].group
			if d, ok := domain(g); ok && g.kind == attracting {
				w.followed[followedDomain{g, d}] = true
			}
			if d, ok := domain(g); ok && g.kind == spreading && q.item.class.owns(g) {
				w.noteLevel(d, &q.item.class.topo.wide[i])
			}
		}
	}
}

// abandons reports whether the fork leaves a domain with none of the pods that others were moved there for, but such as
// were moved there themselves.
func (w *WhatIf) abandons(f *fork) bool {
	if len(w.followed) == 0 {
		return false
	}
	for _, m := range f.displaced {
		for _, g := range m.class.topo.wideIn {
			if g.kind != attracting {
				continue
			}
			for _, id := range f.away {
				d, ok := w.s.nodes[id].domain(g.keyID)
				at := followedDomain{g, d}
				if ok && w.followed[at] && g.counts[d]-w.arrived[at]-w.arriving(f, at) <= 0 {
					return true
				}
			}
		}
	}
	return false
}

// arriving counts the pods that the fork places in the domain.
func (w *WhatIf) arriving(f *fork, at followedDomain) int {
	n := 0
	for _, c := range f.counted {
		if d, ok := c.node.domain(at.group.keyID); ok && c.n > 0 && d == at.domain && slices.Contains(c.class.topo.wideIn, at.group) {
			n += c.n
		}
	}
	for _, m := range w.s.newNodes {
		for _, q := range m.parts {
			if w.s.settled(m.shape, at.group.keyID) == at.domain && slices.Contains(q.item.class.topo.wideIn, at.group) {
				n += q.n
			}
		}
	}
	return n
}
