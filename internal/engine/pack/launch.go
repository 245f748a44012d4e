package pack

import (
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// openNode launches a new node for the item from the pool, filled with whatever else pays. It reports how many pods of the
// item it took.
func (s *solver) openNode(it *podGroup, p *pool, want int, fill bool) int {
	if got := s.openReserved(it, p, want, fill); got > 0 {
		return got
	}
	v := s.view(it, p)
	if v.shape == nil {
		return 0
	}
	var best *newNode
	targets := s.targets(it, v, p, want)
	for _, t := range targets {
		m := s.tryType(it, v, p, t, want, fill)
		if m == nil {
			continue
		}
		if best == nil || m.betterThan(best) {
			if best != nil {
				m.runnerUp = best.name()
				s.draft = best
			}
			best = m
			continue
		}
		if best.runnerUp == "" && m.name() != best.name() {
			best.runnerUp = m.name()
		}
		s.draft = m
	}
	if best == nil {
		return 0
	}
	best.weighed, best.sequential = len(targets), !fill
	best.settleAll()
	return s.commit(best, it)
}

// tryType fills a new node of type t and then takes the cheapest type that still carries what is on it.
func (s *solver) tryType(it *podGroup, v *podGroupOnPool, p *pool, t, want int, fill bool) *newNode {
	s.stats.TypesEvaluated++
	m := s.draft
	s.draft = nil
	if m == nil {
		m = &newNode{used: make(res.Vector, s.schema.Len())}
	}
	clear(m.used)
	*m = newNode{pool: p, shape: v.shape, parts: m.parts[:0], used: m.used, ports: m.ports[:0], host: hostState{m.host.at[:0]},
		ranked: p.hasLimits() || len(p.slots) > 0}
	room := append(s.room[:0], p.net[t]...)
	s.room = room
	if s.take(m, it, t, room, want) != taken {
		s.draft = m
		return nil
	}
	if fill {
		s.fill(m, it, t, room, it.costEfficiency(m.shape, t)*suits)
	}
	best := m.settle(s.lead, room)
	if best >= 0 && fill {
		s.fill(m, it, best, room, 0)
		best = m.settle(s.lead, room)
	}
	if best < 0 {
		s.draft = m
		return nil
	}
	return m
}

// commit makes a tried new node real, and more of the same as long as there are pods for them.
func (s *solver) commit(m *newNode, it *podGroup) int {
	got := 0
	for {
		mine := 0
		for _, part := range m.parts {
			part.item.left -= part.n
			if part.item == it {
				mine += part.n
			}
			s.dropDemand(part.item, part.n)
			s.countOnNewNode(part.item.class, m, part.n)
		}
		got += mine
		s.addNewNode(m)
		m.pool.charge(m)
		if m.pool.hasLimits() || m.sequential || slices.ContainsFunc(m.parts, func(q part) bool { return q.item.left < m.count(q.item) }) {
			return got
		}
		again := *m
		again.parts = slices.Clone(m.parts)
		again.used = m.used.Clone()
		again.types = m.types.Clone()
		again.host = m.host.clone()
		again.ports = slices.Clone(m.ports)
		m = &again
	}
}

// targets are the types worth trying for the item: those that promise most worth per price if they were filled with an
// even mixture of what is left, those on which the item itself is cheapest, and the cheapest that carries one pod.
func (s *solver) targets(it *podGroup, v *podGroupOnPool, p *pool, want int) []int {
	const mixed, own = 8, 4
	byMix, byOwn := bids{s.bids[0][:0], mixed}, bids{s.bids[1][:0], own}
	cheapest := -1
	worth := float64(p.worth)
	forced := s.forcedNodes(it)
	ceiling := catalog.NoPrice
	// What is left to be carried, by a node of those that are forced at least; resources that nothing asks for are passed over.
	s.demanded = s.demanded[:0]
	for r, d := range p.demand {
		if d > 0 {
			s.demanded = append(s.demanded, askedOf{r, float64(d) / float64(forced)})
		}
	}
	byHost := s.hostCap(it.class, nil, want)
	ownWorth := float64(int64(byHost) * v.worth) // at most
	for _, t := range v.shape.order[v.shape.reaching(s.lead, it.class.req):] {
		price := v.shape.price[t]
		f := float64(max(price, 1))
		// Types come by price: from here on none is worth as much for its price as what was found.
		mayMix, mayOwn := worth/f > byMix.least(), ownWorth/f > byOwn.least()
		if !mayMix && !mayOwn {
			break
		}
		net := p.net[t]
		if !p.affordable.Has(t) || !it.class.req.Fits(net) {
			continue
		}
		if cheapest < 0 {
			cheapest = t
		}
		if price > ceiling {
			break
		}
		if bounded := forced <= 1 || ceiling != catalog.NoPrice; mayMix || !bounded {
			share := 1.0
			for _, x := range s.demanded {
				share = min(share, float64(net[x.resource])/x.amount)
				if bounded && share*worth/f <= byMix.least() {
					break // and gets no better
				}
			}
			if !bounded && share >= 1 {
				ceiling = price
			}
			byMix.add(t, share*worth/f)
		}
		if mayOwn {
			byOwn.add(t, float64(int64(min(it.class.req.Times(net, want), byHost))*v.worth)/f)
		}
	}
	s.bids = [2][]bid{byMix.best, byOwn.best}
	out := s.tried[:0]
	for _, b := range s.bids {
		for _, x := range b {
			if !slices.Contains(out, x.t) {
				out = append(out, x.t)
			}
		}
	}
	if cheapest >= 0 && !slices.Contains(out, cheapest) {
		out = append(out, cheapest)
	}
	s.tried = out
	return out
}

// openReserved opens a new node for the item out of the reservation that can be filled best. It reports how many pods of
// the item it took.
func (s *solver) openReserved(it *podGroup, p *pool, want int, fill bool) int {
	var best *newNode
	least := 1
	if !fill {
		least = want // these go together, or not at all
	}
	for _, x := range p.slots {
		t := s.slotType(it, p, x, least)
		if t < 0 {
			continue
		}
		s.stats.TypesEvaluated++
		m := &newNode{pool: p, shape: x.shape, used: make(res.Vector, s.schema.Len()), reserved: x.reservation, sequential: true}
		room := p.net[t].Clone()
		if s.take(m, it, t, room, want) != taken || m.parts[0].n < least {
			continue
		}
		if fill {
			s.fill(m, it, t, room, 0)
		}
		if m.settle(s.lead, room) >= 0 && (best == nil || m.worth > best.worth) {
			best = m
		}
	}
	if best == nil {
		return 0
	}
	s.journal.reservation(best.reserved)
	best.reserved.left--
	best.settleAll()
	return s.commit(best, it)
}
