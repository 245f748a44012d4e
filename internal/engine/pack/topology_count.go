package pack

import "github.com/kerf-sh/kerf/internal/engine/requirement"

// countOnNode records k pods of the class on an existing node for the groups that are not by host.
func (s *solver) countOnNode(c *class, n *node, k int) {
	for _, g := range c.topo.hostIn {
		s.journal.group(g)
		g.total += k
	}
	for _, g := range c.topo.wideIn {
		if g == c.topo.share {
			continue
		}
		if d, ok := n.domain(g.keyID); ok && g.counting(s, n) {
			s.journal.group(g)
			g.counts[d] += k
			g.total += k
		}
	}
	for _, d := range c.topo.wide {
		if v, ok := n.domain(d.group.keyID); ok && d.group.kind == repelling {
			s.journal.group(d.group)
			d.group.owners[v] += k
		}
	}
}

// countOnNewNode is countOnNode for a new node that is launched. A new node whose domain matters is pinned to the one where it
// is cheapest.
func (s *solver) countOnNewNode(c *class, m *newNode, k int) {
	for _, g := range c.topo.hostIn {
		s.journal.group(g)
		g.total += k
	}
	for _, g := range c.topo.wideIn {
		if g == c.topo.share {
			continue
		}
		if d, ok := s.pinNewNode(m, g.keyID); ok && g.countingNewNode(s, m) {
			s.journal.group(g)
			g.counts[d] += k
			g.total += k
		}
	}
	for _, d := range c.topo.wide {
		if v, ok := s.pinNewNode(m, d.group.keyID); ok && d.group.kind == repelling {
			s.journal.group(d.group)
			d.group.owners[v] += k
		}
	}
}

// pinNewNode settles the new node on one value of the key, the one of its cheapest offering, and returns it.
func (s *solver) pinNewNode(m *newNode, k requirement.Key) (string, bool) {
	if set, ok := m.shape.reqs.Get(k); ok {
		if v, single := set.Single(); single {
			return v, true
		}
	}
	value, ok := s.cheapestValue(m, m.best, k)
	if !ok {
		return "", false
	}
	next := s.and(m.shape, s.reqID(s.vocab.Only(s.vocab.Name(k), value)))
	if next == nil || s.leavesTooFew(m, next) {
		return "", false
	}
	m.shape = next
	m.types.And(next.types)
	return value, true
}

// cheapestValue is the value of the key that type t has where it is cheapest.
func (s *solver) cheapestValue(m *newNode, t int, k requirement.Key) (string, bool) {
	value, found, price := "", false, m.shape.price[t]
	for _, at := range m.shape.cells {
		cell := &m.pool.cat.Cells[at]
		if v, ok := cell.Label(k); ok && !found && m.pool.nodePrice(cell, t) == price {
			value, found = v, true
		}
	}
	if found {
		return value, true
	}
	one := m.types.Clone()
	clear(one)
	one.Add(t)
	if values := m.pool.cat.Values(one, k); len(values) > 0 {
		return values[0], true
	}
	if set, ok := m.shape.reqs.Get(k); ok && !set.Complement() && set.Len() > 0 {
		return set.Values()[0], true
	}
	return "", false
}
