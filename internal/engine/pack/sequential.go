package pack

import (
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
)

// placeSequentially places the classes whose pods depend on where the ones before them went. It goes round until nothing
// moves any more, because one class may wait for another.
func (s *solver) placeSequentially(worst taintVerdict, only *rank) {
	for moved := true; moved; {
		moved = false
		for _, c := range s.sequentialOrder() {
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

// placeNext places the next pod of a sequential class, or all that have to share one host: on a node, in free room of a
// new node, or at the least additional price by enlarging a new node or launching one.
func (s *solver) placeNext(c *class, worst taintVerdict) bool {
	s.raiseFloors(c)
	want := c.together(s.leftOf(c))
	if slices.ContainsFunc(c.topo.wide, func(d demand) bool { return d.self && d.group.kind != attracting }) {
		want = 1 // each changes where the next may go
	}
	return placeOne(s.pins(c), want, ways, func(way int, it *podGroup, want int) bool {
		it.left = want
		var got int
		if way == onNode {
			got = s.nodeForAll(it, want, worst)
		} else {
			got = s.onNewNode(way, it, want, worst)
		}
		it.left = 0
		it.total += got
		if got > 0 && s.lastResort {
			s.freezeDomains(it.class)
		}
		return got > 0
	})
}

// together is how many of the class's pods that are left are placed at a time: one, or all of them where they have to share
// one host.
func (c *class) together(left int) int {
	if len(c.src.HostPorts) == 0 && slices.ContainsFunc(c.topo.host, func(d demand) bool { return d.group.kind == attracting }) {
		return left
	}
	return 1 // no two pods with a host port share a host
}

// The ways to place a pod by itself, the best first.
const (
	onNode = iota
	inFreeRoom
	atMorePrice
	ways
)

// placeOne goes through the first so many ways, and through the choices of domains in each; with half as many pods where no
// place is large enough. Try lends an item the pods for one attempt; it reports whether any was placed.
func placeOne(pins []*podGroup, want, ways int, try func(way int, it *podGroup, want int) bool) bool {
	for ; want > 0; want /= 2 {
		for way := range ways {
			for _, it := range pins {
				if try(way, it, want) {
					return true
				}
			}
		}
	}
	return false
}

// onNewNode places the pods in free room of a new node, or at more price; it tells how many.
func (s *solver) onNewNode(way int, it *podGroup, want int, worst taintVerdict) int {
	if way == inFreeRoom {
		return s.roomForAll(it, want, worst)
	}
	return s.growOrLaunch(it, want, worst)
}

func (s *solver) nodeForAll(it *podGroup, want int, worst taintVerdict) int {
	if it.nodes == nil {
		it.nodes = s.nodesFor(it)
	}
	still := it.nodes[:0]
	for i, n := range it.nodes {
		s.visited++
		if !it.class.req.Fits(n.room) {
			continue // room only shrinks
		}
		still = append(still, n)
		if it.class.req.Times(n.room, want) < want || s.hostCap(it.class, s.hostOf(n), want) < want && len(it.class.src.HostPorts) == 0 {
			continue
		}
		if got := s.placeOnNode(it, n, want, worst); got > 0 {
			it.nodes = append(still, it.nodes[i+1:]...)
			return got
		}
	}
	it.nodes = still
	return 0
}

// nodesFor are the nodes that have room for a pod of the item and that it may go to, in their order. Not nil.
func (s *solver) nodesFor(it *podGroup) []*node {
	among := s.nodes
	if it.within != nil {
		among = it.within
	}
	out := []*node{}
	for _, n := range among {
		s.visited++
		if it.class.req.Fits(n.room) && s.fitsKind(it, n) != barred {
			out = append(out, n)
		}
	}
	return out
}

func (s *solver) roomForAll(it *podGroup, want int, worst taintVerdict) int {
	for _, m := range s.newNodes {
		v := s.view(it, m.pool)
		if v.shape == nil && m.reserved == nil || v.verdict > worst {
			continue
		}
		if s.hostCap(it.class, &m.host, 1) == 0 {
			continue
		}
		s.room = append(s.room[:0], m.pool.net[m.best]...)
		s.room.Sub(m.used, 1)
		if it.class.req.Times(s.room, want) < want {
			continue
		}
		if got := s.joinFree(it, m, want); got > 0 {
			return got
		}
	}
	return 0
}

// growOrLaunch compares the new node that gets dearer by the least with a new one.
func (s *solver) growOrLaunch(it *podGroup, want int, worst taintVerdict) int {
	var best *newNode
	var bestMore catalog.MicroUSD
	for _, m := range s.newNodes {
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
			if got := s.openNode(it, p, want, false); got > 0 {
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

// grown is what the new node would cost with want pods of the item on it.
func (s *solver) grown(it *podGroup, m *newNode, want int) (catalog.MicroUSD, bool) {
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

func (s *solver) grow(it *podGroup, m *newNode, want int) int {
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
	s.countOnNewNode(c, m, want)
	m.pool.charge(m)
	return want
}
