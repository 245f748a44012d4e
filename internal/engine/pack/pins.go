package pack

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// pins are the choices of domains that the constraints allow the class now, best first.
//
// Cost: for each pod that is placed alone, the product of the domains that each key still allows. Nodes are not looked at
// again, and nothing is allocated for a choice that was there before.
func (s *solver) pins(c *class) []*podGroup { return s.pinsOver(c, s.wideKeys(c), true) }

// mostChoices bounds the choices of domains that are tried for a pod. Zones and the racks of a large cluster are a thousand; zones,
// instance types and families together are 72,000, for which one decision takes longer than anybody waits, so that one such pod
// would hold up all.
const mostChoices = 5000

// choices are the domains of each key that are tried, and ok unless they are too many. Keys that nothing binds the class to are left out
// then: those of the spreads of others that count it.
func (s *solver) choices(c *class, keys []string) (_ []string, allowed [][]string, ok bool) {
	few := func() bool {
		n := 1
		for _, a := range allowed {
			if n *= max(1, len(a)); n > mostChoices {
				return false
			}
		}
		return true
	}
	for _, k := range keys {
		allowed = append(allowed, s.allowedDomains(c, k, s.domainsFor(c, k)))
	}
	if few() {
		return keys, allowed, true
	}
	var kept []string
	bounded := allowed[:0]
	for i, k := range keys {
		if c.bound(k) {
			kept, bounded = append(kept, k), append(bounded, allowed[i])
		}
	}
	allowed = bounded
	return kept, allowed, few()
}

// pinsOver are the choices of domains of these keys. With anywhere, a key may also be left open where the class is not bound
// to a domain of it, and the label may be missing where that is allowed.
func (s *solver) pinsOver(c *class, keys []string, anywhere bool) []*podGroup {
	if c.root == nil {
		c.root = &pin{}
	}
	keys, allowed, ok := s.choices(c, keys)
	if !ok {
		if anywhere {
			c.broken = fmt.Sprintf("its topology constraints leave more than %d choices of %s; use fewer of these keys", mostChoices, strings.Join(keys, ", "))
		}
		return nil
	}
	pins := []*pin{c.root}
	for i, k := range keys {
		var next []*pin
		for _, base := range pins {
			for _, d := range allowed[i] {
				next = append(next, base.step(pinStep{key: k, name: d}, func() pin {
					return pin{reqs: base.reqs.And(s.vocab.Only(k, d)), name: base.name + "/" + d, within: fewer(base.within, s.nodesIn(k)[d])}
				}))
			}
			if !anywhere {
				continue
			}
			if !c.bound(k) {
				// Where no domain can be settled, anywhere will do.
				next = append(next, base.step(pinStep{key: k}, func() pin { return pin{reqs: base.reqs, name: base.name + "/*", within: base.within} }))
			} else if lacking, ok := s.lacking(c, k); ok {
				next = append(next, base.step(pinStep{key: k, lacking: true}, func() pin { return pin{reqs: base.reqs.And(lacking), name: base.name + "/!", within: base.within} }))
			}
		}
		pins = next
	}
	out := make([]*podGroup, len(pins))
	for i, p := range pins {
		if p.item == nil {
			p.item = s.pinned(c, s.reqID(p.reqs), p.name)
			p.item.within = p.within
		}
		out[i] = p.item
	}
	return out
}

// fewer is the shorter list; one that is nil is of all nodes.
func fewer(a, b []*node) []*node {
	if a != nil && len(a) <= len(b) {
		return a
	}
	if b == nil {
		return []*node{} // no node is there
	}
	return b
}

// step is the choice with one more key settled; made is called if there is none yet.
func (p *pin) step(to pinStep, made func() pin) *pin {
	next, ok := p.next[to]
	if !ok {
		if p.next == nil {
			p.next = map[pinStep]*pin{}
		}
		it := made()
		next = &it
		p.next[to] = next
	}
	return next
}

// bound reports whether the class may not go to just any domain of the key.
func (c *class) bound(key string) bool {
	return slices.ContainsFunc(c.topo.wide, func(d demand) bool { return d.group.key == key }) ||
		slices.ContainsFunc(c.topo.repels, func(g *group) bool { return g.key == key })
}

// lacking demands that there be no such label, where the class may go to nodes without it: nothing is too close to a pod
// whose node is in no domain. Spreads and pod affinity want a domain.
//
// Source: kube-scheduler's inter-pod affinity plug-in, v1.36.
func (s *solver) lacking(c *class, key string) (requirement.Requirements, bool) {
	if slices.ContainsFunc(c.topo.wide, func(d demand) bool { return d.group.key == key && d.group.kind != repelling }) {
		return requirement.Requirements{}, false
	}
	reqs, err := s.vocab.Parse([]requirement.Term{{Key: key, Operator: requirement.DoesNotExist}})
	return reqs, err == nil
}

// pinned is the class's item for a choice of domains; made once.
func (s *solver) pinned(c *class, req int, name string) *podGroup {
	for _, it := range c.items {
		if it.pin == name {
			return it
		}
	}
	it := s.newItem(c, 0, name, req)
	c.items = append(c.items, it)
	return it
}

// wideKeys are the keys whose domain must be settled for the class, sorted.
func (s *solver) wideKeys(c *class) []string {
	var keys []string
	for _, d := range c.topo.wide {
		keys = append(keys, d.group.key)
	}
	for _, g := range c.topo.repels {
		if !g.byHost && g.pending > 0 {
			keys = append(keys, g.key)
		}
	}
	for _, g := range c.topo.foreign {
		keys = append(keys, g.key)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}
