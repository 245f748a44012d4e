package pack

import (
	"math/bits"

	"github.com/kerf-sh/kerf/internal/engine/res"
)

// suits is how well, next to the item that a new node is opened for, others must use the new node for it to be made larger
// for them. Those that would be much cheaper elsewhere only get room that is left over.
const suits = 0.95

// fill takes along pods of other items of the same pool, in order, if they use the new node with at least that cost efficiency.
func (s *solver) fill(m *newNode, it *podGroup, t int, room res.Vector, efficiency float64) {
	c := &s.crowds[m.pool.rank]
	if !c.find(m, t, room, efficiency) {
		return
	}
	shape, cpu, memory := m.shape, s.lead[0], s.lead[1]
	for w := range c.left {
		for c.left[w] != 0 {
			i := w<<6 + bits.TrailingZeros64(c.left[w])
			c.left[w] &= c.left[w] - 1
			// Room only gets less, and a new node that is narrowed only dearer: what does not go now does not go later.
			x := &c.sizes[c.sizeOf[i]]
			if !x.fits(room[cpu], room[memory], room) || efficiency > 0 && m.shape != shape && x.such.costEfficiency(m.shape, t) < efficiency {
				x.crossOff(c.left)
				continue
			}
			other := c.items[i]
			if other.left == 0 {
				c.drop(i)
				continue
			}
			if other == it || other.pool != m.pool {
				continue
			}
			left := other.left - m.count(other)
			if left == 0 {
				continue
			}
			if s.take(m, other, t, room, left) == unfit {
				c.kinds[c.kindOf[i]].crossOff(c.left)
			}
		}
	}
}

// taking is what comes of the attempt to put pods on a new node.
type taking int

const (
	taken   taking = iota
	unfit          // nothing of that kind can be there, whatever comes
	refused        // it does not pay, or there is no room
)

// take puts up to want pods of the item on a new node that is to be of type t with the given room. Pods that make the
// new node dearer than they are worth are not taken along.
func (s *solver) take(m *newNode, it *podGroup, t int, room res.Vector, want int) taking {
	c := it.class
	first := c.firstOf(m.parts)
	n := c.times(room, first, want)
	if n <= 0 {
		return refused
	}
	if n = s.hostCap(c, &m.host, n); n <= 0 {
		return unfit
	}
	if ports := c.src.HostPorts; len(ports) > 0 {
		n = 1
		if portsConflict(ports, m.ports) || portsConflict(ports, m.pool.burdens[m.pool.burdenOf[t]].ports) {
			return unfit
		}
	}
	next := s.join(m.shape, it, t)
	if next == nil {
		return unfit
	}
	worth := it.on[m.pool.rank].worth * int64(n)
	if more := next.price[t] - m.shape.price[t]; len(m.parts) > 0 && more > 0 && int64(more)*1000 > worth {
		return refused
	}
	if !s.keepsMinValues(m, next, it, n) {
		return refused
	}
	m.shape = next
	m.parts = append(m.parts, part{it, n})
	m.worth += worth
	m.used.Add(c.req, n)
	m.used.Add(first, 1)
	room.Sub(c.req, n)
	room.Sub(first, 1)
	m.ports = append(m.ports, c.src.HostPorts...)
	s.hostAdd(c, &m.host, n)
	return taken
}
