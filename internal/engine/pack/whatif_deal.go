package pack

import "slices"

// dealt is some pods of a class that were dealt out to one domain.
type dealt struct {
	mover  *displacedClass
	group  *group
	domain string
	item   *podGroup
}

// deal assigns pods that only have to be spread over the domains of one key to domains, as far as new nodes can be launched
// there, so that new nodes are filled with them like with any other pods.
func (w *WhatIf) deal(f *fork, worst taintVerdict) []dealt {
	var out []dealt
	for _, m := range f.displaced {
		if m.left == 0 || m.item == nil || !m.spreadsOnly() {
			continue
		}
		g := m.class.topo.wide[0].group
		for m.left > 0 {
			it := w.cheapestPin(m, worst)
			if it == nil {
				break
			}
			domain := it.pin[1:]
			w.s.journal.group(g)
			g.counts[domain]++
			g.total++
			m.left--
			if it.left == 0 {
				it.total, it.pool = 0, nil
				out = append(out, dealt{m, g, domain, it})
			}
			it.left++
			it.total++
		}
	}
	return out
}

// cheapestPin is the item of the allowed domain in which a pod is launched for from the pool of most weight and is cheapest, of
// equals the emptiest; nil if new nodes can be launched in none.
func (w *WhatIf) cheapestPin(m *displacedClass, worst taintVerdict) *podGroup {
	var best *podGroup
	least := terms{}
	for _, it := range w.pins(m) {
		w.s.journal.item(it)
		p := w.s.choosePool(it, worst)
		if p == nil {
			continue
		}
		if on := (terms{p.src.Weight, it.on[p.rank].worth}); best == nil || on.compare(least) < 0 {
			best, least = it, on
		}
	}
	return best
}

// spreadsOnly reports whether one spread over domains is all that makes the class sequential.
func (m *displacedClass) spreadsOnly() bool {
	t := &m.class.topo
	if !m.sequential || len(t.wide) != 1 || t.wide[0].group.kind != spreading || !t.wide[0].self {
		return false
	}
	if slices.ContainsFunc(t.wideIn, func(g *group) bool { return g != t.wide[0].group }) {
		return false
	}
	return !slices.ContainsFunc(t.repels, func(g *group) bool { return !g.byHost }) &&
		!slices.ContainsFunc(t.host, func(d demand) bool { return d.group.kind == attracting })
}

// uncount takes back what dealing out counted: whatever is launched is counted then.
func (w *WhatIf) uncount(all []dealt) {
	for _, d := range all {
		w.s.journal.group(d.group)
		d.group.counts[d.domain] -= d.item.left
		d.group.total -= d.item.left
	}
}

// uneven reports whether a domain that pods were dealt out to holds more than their spread allows in the end.
func (w *WhatIf) uneven(all []dealt) bool {
	return slices.ContainsFunc(all, func(d dealt) bool {
		limits := &d.mover.class.topo.wide[0]
		return d.group.counts[d.domain]-d.group.floor(w.s.domainsNow(d.group), limits.minDomains) > limits.maxSkew
	})
}

// takeBack returns what could not be launched to the displaced classes.
func takeBack(all []dealt) {
	for _, d := range all {
		d.mover.left += d.item.left
		d.item.left = 0
	}
}
