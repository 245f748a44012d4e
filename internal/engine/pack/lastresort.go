package pack

import "slices"

// When everything else is placed, spreads are measured over the domains that have a node or will have one. What is placed
// then relies on no further domain being opened.

// freezeDomains remembers that pods of the class rely on the domains of its spreads as they are.
func (s *solver) freezeDomains(c *class) {
	for _, d := range c.topo.wide {
		if d.group.kind == spreading && !slices.Contains(s.frozen, d.group) {
			s.frozen = append(s.frozen, d.group)
		}
	}
}

// frozenDomains are the domains on which pods rely as they are, by spread.
func (s *solver) frozenDomains() [][]string {
	out := make([][]string, len(s.frozen))
	for i, g := range s.frozen {
		out[i] = s.domainsNow(g)
	}
	return out
}

// opens reports whether there is a domain now that was not there before.
func (s *solver) opens(before [][]string) bool {
	for i, g := range s.frozen {
		for _, d := range s.domainsNow(g) {
			if !slices.Contains(before[i], d) {
				return true
			}
		}
	}
	return false
}

// tipped reports whether pods that a spread counts without bearing it, and that were placed without regard to it, have made
// it uneven where the item was dealt to.
func (s *solver) tipped(it *podGroup) bool {
	g := it.class.topo.share
	if g.kind != spreading || it.pin == "" || !s.followedByOthers(g) {
		return false
	}
	domains := g.domains()
	for i := range it.class.topo.wide {
		d := &it.class.topo.wide[i]
		if d.group == g && g.counts[it.pin]-g.floor(domains, d.minDomains) > d.maxSkew {
			return true
		}
	}
	return false
}

// keepsDomains reports whether a new node for the item opens no domain that the frozen spreads would count.
func (s *solver) keepsDomains(it *podGroup, p *pool) bool {
	var shapes []*shape
	if v := s.view(it, p); v.shape != nil {
		shapes = append(shapes, v.shape)
	}
	for _, x := range p.slots {
		if sh := s.join(x.shape, it, -1); sh != nil && x.reservation.left > 0 {
			shapes = append(shapes, sh)
		}
	}
	for _, g := range s.frozen {
		now := s.domainsNow(g)
		for _, sh := range shapes {
			if counts, sure := g.looksAt(s, p, sh, sh.types); sure && !counts {
				continue
			}
			found := map[string]bool{}
			s.domainsOf(sh, g.keyID, found)
			for d := range found {
				if !slices.Contains(now, d) {
					return false
				}
			}
		}
	}
	return true
}

// squeeze puts pods that are left, and that no constraint of their own keeps away, onto nodes where room was left to the
// bearers of spreads over hosts.
func (s *solver) squeeze() {
	s.squeezing = true
	defer func() { s.squeezing = false }()
	s.placeSequentially(avoids, nil)
	for _, it := range s.podGroups {
		if it.left > 0 && slices.ContainsFunc(it.class.topo.hostIn, func(g *group) bool { return g.kind == spreading && !g.soft && !it.class.owns(g) }) {
			s.placeOnNodes(it, it.left, avoids)
		}
	}
}
