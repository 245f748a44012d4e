package pack

import (
	"cmp"
	"slices"

	"github.com/kerf-sh/kerf/internal/requirement"
)

// domainTerms is a domain with the terms on which machines are bought there.
type domainTerms struct {
	name string
	on   terms
}

// domainsFor are all domains of a key that the class could have anything to do with.
func (w *WhatIf) domainsFor(m *mover, key string) []domainTerms {
	if known, ok := m.domains[key]; ok {
		return known
	}
	s := w.s
	k := s.vocab.Key(key)
	found := map[string]bool{}
	for _, d := range s.reachableBy(m.class, k) {
		found[d] = true
	}
	for _, n := range s.nodes {
		if d, ok := n.domain(k); ok {
			found[d] = true
		}
	}
	out := []domainTerms{}
	for _, name := range sortedKeys(found) {
		it := s.newItem(m.class, 0, name, s.reqID(s.vocab.Only(key, name)))
		on, _ := s.surelyBuyable(it)
		out = append(out, domainTerms{name, on})
	}
	m.domains[key] = out
	return out
}

// pins are the choices of domains that the constraints allow one more pod of the class now, best first.
func (w *WhatIf) pins(m *mover) []*item {
	s := w.s
	type pin struct {
		reqs requirement.Requirements
		name string
	}
	pins := []pin{{}}
	for _, key := range w.keysOf(m) {
		var next []pin
		for _, base := range pins {
			for _, d := range w.allowedDomains(m, key) {
				next = append(next, pin{base.reqs.And(s.vocab.Only(key, d)), base.name + "/" + d})
			}
		}
		pins = next
	}
	out := make([]*item, 0, len(pins))
	for _, p := range pins {
		if p.name == "" {
			out = append(out, m.item)
			continue
		}
		out = append(out, s.pinned(m.class, s.reqID(p.reqs), p.name))
	}
	return out
}

// keysOf are the keys whose domains decide where the class may go, those of the anti-affinity of pods that don't move
// included.
func (w *WhatIf) keysOf(m *mover) []string {
	keys := w.s.wideKeys(m.class)
	for _, g := range m.class.topo.repels {
		if !g.byHost && !slices.Contains(keys, g.key) {
			keys = append(keys, g.key)
		}
	}
	slices.Sort(keys)
	return keys
}

func (w *WhatIf) allowedDomains(m *mover, key string) []string {
	type choice struct {
		domainTerms
		count int
	}
	var out []choice
	for _, d := range w.domainsFor(m, key) {
		ch := choice{domainTerms: d}
		ok := true
		for i := range m.class.topo.wide {
			if dm := &m.class.topo.wide[i]; ok && dm.group.key == key {
				ok = w.s.allows(dm, d.name)
				ch.count += dm.rank(d.name)
			}
		}
		for _, g := range m.class.topo.repels {
			ok = ok && (g.key != key || g.owners[d.name] == 0)
		}
		if ok {
			out = append(out, ch)
		}
	}
	slices.SortStableFunc(out, func(a, b choice) int {
		return cmp.Or(cmp.Compare(a.count, b.count), a.on.compare(b.on))
	})
	names := make([]string, len(out))
	for i, ch := range out {
		names[i] = ch.name
	}
	return names
}
