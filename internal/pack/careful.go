package pack

import (
	"cmp"
	"slices"

	"github.com/kerf-sh/kerf/internal/catalog"
	"github.com/kerf-sh/kerf/internal/requirement"
)

// placeCareful places the classes whose pods depend on where the ones before them went. It goes round until nothing
// moves any more, because one class may wait for another.
func (s *solver) placeCareful(worst taintVerdict, only *rank) {
	for moved := true; moved; {
		moved = false
		for _, c := range s.carefulOrder() {
			if only != nil && (c.rank != *only || c.late) {
				continue
			}
			for s.leftOf(c) > 0 && s.placeNext(c, worst) {
				moved = true
			}
		}
	}
}

func (s *solver) leftOf(c *class) int {
	n := len(c.pods)
	for _, it := range c.items {
		n -= it.total
	}
	return n
}

// placeNext places the next pod of a careful class, or all that have to share one host: on a node, in free room of a
// machine, or at the least additional price by enlarging a machine or buying one.
func (s *solver) placeNext(c *class, worst taintVerdict) bool {
	s.raiseFloors(c)
	want := 1
	together := slices.ContainsFunc(c.topo.host, func(d demand) bool { return d.group.kind == attracting })
	if together {
		want = s.leftOf(c)
	}
	apart := slices.ContainsFunc(c.topo.wide, func(d demand) bool { return d.self && d.group.kind != attracting })
	if len(c.src.HostPorts) > 0 || apart {
		want = 1 // no two of them share a host, or each changes where the next may go
	}
	pins := s.pins(c)
	for want > 0 {
		for _, it := range pins {
			if s.try(it, want, func() int { return s.nodeForAll(it, want, worst) }) {
				return true
			}
		}
		for _, it := range pins {
			if s.try(it, want, func() int { return s.roomForAll(it, want, worst) }) {
				return true
			}
		}
		for _, it := range pins {
			if s.try(it, want, func() int { return s.growOrBuy(it, want, worst) }) {
				return true
			}
		}
		want /= 2
	}
	return false
}

// try lends the item want pods for one attempt and keeps what was placed.
func (s *solver) try(it *item, want int, attempt func() int) bool {
	it.left = want
	got := attempt()
	it.left = 0
	it.total += got
	if got > 0 && s.lastResort {
		s.freezeDomains(it.class)
	}
	return got > 0
}

func (s *solver) nodeForAll(it *item, want int, worst taintVerdict) int {
	for b, most := range s.most {
		if !it.class.req.Fits(most) {
			continue
		}
		for _, n := range s.strip(b) {
			if !it.class.req.Fits(n.room) || it.class.req.Times(n.room, want) < want {
				continue
			}
			if s.hostCap(it.class, s.hostOf(n), want) < want && len(it.class.src.HostPorts) == 0 {
				continue
			}
			if got := s.placeOnNode(it, n, want, worst); got > 0 {
				return got
			}
		}
	}
	return 0
}

func (s *solver) roomForAll(it *item, want int, worst taintVerdict) int {
	for _, m := range s.bought {
		v := s.view(it, m.pool)
		if v.shape == nil && m.reserved == nil || v.verdict > worst {
			continue
		}
		room := m.pool.net[m.best].Clone()
		room.Sub(m.used, 1)
		if it.class.req.Times(room, want) < want {
			continue
		}
		if got := s.joinFree(it, m, want); got > 0 {
			return got
		}
	}
	return 0
}

// growOrBuy compares the machine that gets dearer by the least with a new one.
func (s *solver) growOrBuy(it *item, want int, worst taintVerdict) int {
	var best *machine
	var bestMore catalog.MicroUSD
	for _, m := range s.bought {
		v := s.view(it, m.pool)
		if v.shape == nil && m.reserved == nil || v.verdict > worst {
			continue
		}
		if price, ok := s.grown(it, m, want); ok && (best == nil || price-m.price < bestMore) {
			best, bestMore = m, price-m.price
		}
	}
	p := s.choosePool(it, worst)
	for p != nil {
		alone := s.alone(it, p, want)
		if s.lastResort && !s.keepsDomains(it, p) {
			alone = catalog.NoPrice
		}
		if alone < catalog.NoPrice && (best == nil || alone < bestMore) {
			it.pool = nil
			if got := s.openMachine(it, p, want, false); got > 0 {
				return got
			}
		}
		if best != nil {
			break
		}
		p = s.poolAfter(it, p, worst)
	}
	if best == nil {
		return 0
	}
	return s.grow(it, best, want)
}

// alone is the price of the cheapest machine for want pods of the item by themselves.
func (s *solver) alone(it *item, p *pool, want int) catalog.MicroUSD {
	if s.reservable(it, p, want) {
		return 0
	}
	v := s.view(it, p)
	if v.shape == nil {
		return catalog.NoPrice
	}
	used := it.class.req.Clone()
	used.Add(it.class.req, want-1)
	used.Add(it.class.shared, 1)
	t := v.shape.cheapest(p.carrying(v.shape, used, it.class.src.HostPorts))
	if t < 0 || s.hostCap(it.class, nil, want) < want {
		return catalog.NoPrice
	}
	return v.shape.price[t]
}

// grown is what the machine would cost with want pods of the item on it.
func (s *solver) grown(it *item, m *machine, want int) (catalog.MicroUSD, bool) {
	if s.hostCap(it.class, &m.host, want) < want || portsConflict(it.class.src.HostPorts, m.ports) {
		return 0, false
	}
	next := s.join(m.shape, it, -1)
	if next == nil || !s.keepsMinValues(m, next, it, want) {
		return 0, false
	}
	used := m.used.Clone()
	used.Add(it.class.req, want)
	used.Add(it.class.firstOf(m.parts), 1)
	t := next.cheapest(m.pool.carrying(next, used, slices.Concat(m.ports, it.class.src.HostPorts)))
	if t < 0 {
		return 0, false
	}
	return next.price[t], true
}

func (s *solver) grow(it *item, m *machine, want int) int {
	c := it.class
	m.pool.refund(m)
	m.shape = s.join(m.shape, it, -1)
	m.used.Add(c.firstOf(m.parts), 1)
	m.parts = append(m.parts, part{it, want})
	m.worth += it.on[m.pool.rank].worth * int64(want)
	m.used.Add(c.req, want)
	m.ports = append(m.ports, c.src.HostPorts...)
	s.hostAdd(c, &m.host, want)
	m.settleAll()
	s.noteSpare(m)
	it.left -= want
	s.countOnMachine(c, m, want)
	m.pool.charge(m)
	return want
}

// pins are the choices of domains that the constraints allow the class now, best first.
func (s *solver) pins(c *class) []*item {
	type pin struct {
		reqs requirement.Requirements
		name string
	}
	pins := []pin{{}}
	for _, k := range s.wideKeys(c) {
		var next []pin
		for _, base := range pins {
			for _, d := range s.allowedDomains(c, k) {
				next = append(next, pin{base.reqs.And(s.vocab.Only(k, d)), base.name + "/" + d})
			}
			if !c.bound(k) {
				next = append(next, pin{base.reqs, base.name + "/*"}) // where no domain can be settled, anywhere will do
			} else if lacking, ok := s.lacking(c, k); ok {
				next = append(next, pin{base.reqs.And(lacking), base.name + "/!"})
			}
		}
		pins = next
	}
	var out []*item
	for _, p := range pins {
		out = append(out, s.pinned(c, s.reqID(p.reqs), p.name))
	}
	return out
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
func (s *solver) pinned(c *class, req int, name string) *item {
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

// allowedDomains are the domains of a key that all constraints of the class allow for one more pod, best first: the
// emptiest for spreads, the fullest for affinity, then the one with the pool of most weight, the cheapest, then by name.
func (s *solver) allowedDomains(c *class, key string) []string {
	k := s.vocab.Key(key)
	found := map[string]bool{}
	for _, d := range s.reachableBy(c, k) {
		found[d] = true
	}
	for _, n := range s.nodes {
		if d, ok := n.domain(k); ok {
			found[d] = true
		}
	}
	type choice struct {
		name  string
		count int
		terms terms
	}
	var out []choice
	for _, name := range sortedKeys(found) {
		count, ok := 0, true
		for i := range c.topo.wide {
			d := &c.topo.wide[i]
			if d.group.key == key {
				ok = ok && s.allows(d, name)
				count += d.rank(name)
			}
		}
		for _, g := range c.topo.repels {
			if g.key == key && g.owners[name] > 0 {
				ok = false
			}
		}
		for _, g := range c.topo.foreign {
			if g.key == key {
				count += g.counts[name] // nothing forbids it, but others may have to follow
			}
		}
		if ok {
			it := s.newItem(c, 0, name, s.reqID(s.vocab.Only(key, name)))
			w, _ := s.surelyBuyable(it)
			out = append(out, choice{name, count, w})
		}
	}
	slices.SortStableFunc(out, func(a, b choice) int {
		return cmp.Or(cmp.Compare(a.count, b.count), a.terms.compare(b.terms))
	})
	names := make([]string, len(out))
	for i, ch := range out {
		names[i] = ch.name
	}
	return names
}

// allows reports whether one more pod may go to the domain.
func (s *solver) allows(d *demand, domain string) bool {
	g := d.group
	switch g.kind {
	case spreading:
		more := 0
		if d.self {
			more = 1
		}
		domains := s.domainsNow(g)
		return slices.Contains(domains, domain) && g.counts[domain]+more-g.floor(domains, d.minDomains) <= d.maxSkew
	case attracting:
		return g.counts[domain] > 0 || (d.self && g.total == 0)
	}
	return g.counts[domain] == 0 && !(d.self && g.owners[domain] > 0)
}

// domainsNow are the domains that a spread is measured over. As a rule those that could be bought count too, because
// someone may; once everything else is placed, only those that have a node or will have one.
func (s *solver) domainsNow(g *group) []string {
	if !s.lastResort {
		return g.domains()
	}
	found := map[string]bool{}
	for d := range g.present {
		found[d] = true
	}
	for _, m := range s.bought {
		if counts, sure := g.looksAt(s, m.pool, m.shape, m.types); sure && !counts {
			continue
		} else if !sure && m.pool.hasLimits() {
			return g.domains() // settling it now could take more of the limit than was counted
		}
		if !g.countingMachine(s, m) {
			continue
		}
		if m.pool.hasLimits() && s.settled(m.shape, g.keyID) == "" {
			return g.domains() // settling it now could take more of the limit than was counted
		}
		if d, ok := s.pinMachine(m, g.keyID); ok {
			found[d] = true
		}
	}
	if len(found) == 0 {
		return g.reachable
	}
	return sortedKeys(found)
}

// rank orders domains: less is better.
func (d *demand) rank(domain string) int {
	if d.group.kind == attracting {
		return -d.group.counts[domain]
	}
	return d.group.counts[domain]
}
