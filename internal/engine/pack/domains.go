package pack

import (
	"cmp"
	"slices"
)

// domainsFor are all domains of a key that the class could have anything to do with, by name. They are worked out once:
// neither what can be launched nor a node's labels change while a problem is solved.
func (s *solver) domainsFor(c *class, key string) []domainTerms {
	if known, ok := c.domains[key]; ok {
		return known
	}
	k := s.vocab.Key(key)
	found := map[string]bool{}
	for _, d := range s.reachableBy(c, k) {
		found[d] = true
	}
	for d := range s.nodesIn(key) {
		found[d] = true
	}
	out := []domainTerms{}
	for _, name := range sortedKeys(found) {
		on, _ := s.surelyLaunchable(s.newItem(c, 0, name, s.reqID(s.vocab.Only(key, name))), key, share(len(c.pods), len(found)))
		out = append(out, domainTerms{name, on})
	}
	if c.domains == nil {
		c.domains = map[string][]domainTerms{}
	}
	c.domains[key] = out
	return out
}

// nodesIn are the nodes of each domain of a key, in their order; worked out once for all classes.
func (s *solver) nodesIn(key string) map[string][]*node {
	if known, ok := s.inDomain[key]; ok {
		return known
	}
	k, in := s.vocab.Key(key), map[string][]*node{}
	for _, n := range s.nodes {
		s.visited++
		if d, ok := n.domain(k); ok {
			in[d] = append(in[d], n)
		}
	}
	if s.inDomain == nil {
		s.inDomain = map[string]map[string][]*node{}
	}
	s.inDomain[key] = in
	return in
}

// allowedDomains are those of the domains of a key that all constraints of the class allow for one more pod, best first:
// the emptiest for spreads, the fullest for affinity, then the one with the pool of most weight, the cheapest, then by
// name, which is how they are given.
func (s *solver) allowedDomains(c *class, key string, of []domainTerms) []string {
	type choice struct {
		domainTerms
		count int
	}
	var demands []*demand
	for i := range c.topo.wide {
		if d := &c.topo.wide[i]; d.group.key == key {
			demands = append(demands, d)
		}
	}
	allows := make([]func(string) bool, len(demands)) // made when first asked: that may settle domains of new instances
	out := make([]choice, 0, len(of))
	for _, d := range of {
		ch, ok := choice{domainTerms: d}, true
		for i, demand := range demands {
			if ok {
				if allows[i] == nil {
					allows[i] = s.allows(demand)
				}
				ok = allows[i](d.name)
			}
			ch.count += demand.rank(d.name)
		}
		for _, g := range c.topo.repels {
			ok = ok && (g.key != key || g.owners[d.name] == 0)
		}
		for _, g := range c.topo.foreign {
			if g.key == key {
				ch.count += g.counts[d.name] // nothing forbids it, but others may have to follow
			}
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

// allows tells of each domain whether one more pod may go there, as things are now.
func (s *solver) allows(d *demand) func(domain string) bool {
	g := d.group
	switch g.kind {
	case spreading:
		most := d.maxSkew
		if d.self {
			most--
		}
		domains := s.domainsNow(g) // sorted
		most += g.floor(domains, d.minDomains)
		return func(domain string) bool {
			_, counts := slices.BinarySearch(domains, domain)
			return counts && g.counts[domain] <= most
		}
	case attracting:
		return func(domain string) bool { return g.counts[domain] > 0 || (d.self && g.total == 0) }
	}
	return func(domain string) bool { return g.counts[domain] == 0 && !(d.self && g.owners[domain] > 0) }
}

// domainsNow are the domains that a spread is measured over. As a rule those that could be launched count too, because
// someone may; once everything else is placed, only those that have a node, or will or may have one of the plan's.
func (s *solver) domainsNow(g *group) []string {
	if !s.lastResort {
		return g.domains()
	}
	found := map[string]bool{}
	for d := range g.present {
		found[d] = true
	}
	for _, m := range s.newNodes {
		counts, sure := g.looksAt(s, m.pool, m.shape, m.types)
		switch {
		case sure && !counts:
		case !m.pool.settlesFreely() && (!sure || s.settled(m.shape, g.keyID) == ""):
			g.mayAdd(s, m, found)
		case g.countingNewNode(s, m):
			if d, ok := s.pinNewNode(m, g.keyID); ok {
				found[d] = true
			}
		}
	}
	if len(found) == 0 {
		return g.reachable
	}
	return sortedKeys(found)
}

// settlesFreely reports whether a new node of the pool can always be settled on less than it may become. It could take more of
// a limit than was counted, or leave fewer values than the pool asks for.
func (p *pool) settlesFreely() bool { return !p.hasLimits() && !p.hasMinValues }

// mayAdd adds the domains in which the new node may come to be one that the spread looks at.
func (g *group) mayAdd(s *solver, m *newNode, found map[string]bool) {
	for _, r := range g.filter {
		if sh := s.and(m.shape, s.reqID(r)); sh != nil {
			s.domainsOf(sh, g.keyID, found)
		}
	}
}

// rank orders domains: less is better.
func (d *demand) rank(domain string) int {
	if d.group.kind == attracting {
		return -d.group.counts[domain]
	}
	return d.group.counts[domain]
}
