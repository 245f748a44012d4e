package pack

import (
	"cmp"
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/res"
)

// targetIndex holds the nodes that may be filled, in order, in strips that can be passed over as a whole.
type targetIndex struct {
	strips  []strip
	stripOf []int // by node; -1: no target
}

type strip struct {
	nodes []*node
	most  res.Vector // of any node's room
}

func (x *targetIndex) set(w *WhatIf, order []int) {
	x.strips = x.strips[:0]
	x.stripOf = make([]int, len(w.s.nodes))
	for i := range x.stripOf {
		x.stripOf[i] = -1
	}
	for chunk := range slices.Chunk(order, stripSize) {
		b := strip{}
		for _, id := range chunk {
			if !w.gone[id] {
				b.nodes = append(b.nodes, w.s.nodes[id])
				x.stripOf[id] = len(x.strips)
			}
		}
		b.measure()
		x.strips = append(x.strips, b)
	}
}

func (b *strip) measure() {
	b.most = mostRoom(b.most, len(b.nodes), func(i int) res.Vector { return b.nodes[i].room })
}

// refresh takes out the nodes that went and measures anew where room was used.
func (x *targetIndex) refresh(w *WhatIf, f *fork) {
	dirty := map[int]bool{}
	for _, t := range w.s.journal.nodes {
		dirty[x.stripOf[t.node.id]] = true
	}
	for _, id := range f.away {
		dirty[x.stripOf[id]] = true
	}
	delete(dirty, -1)
	for at := range dirty {
		b := &x.strips[at]
		b.nodes = slices.DeleteFunc(b.nodes, func(n *node) bool { return w.gone[n.id] })
		b.measure()
	}
}

// placeOnNodes puts the fork's pods on nodes that stay, as far as there is room: first on nodes without taints that ask
// to be avoided.
func (w *WhatIf) placeOnNodes(f *fork) {
	for _, worst := range []taintVerdict{bears, avoids} {
		w.placeSequentially(f, worst, false)
		for _, m := range f.displaced {
			if !m.sequential && m.left > 0 && m.item != nil {
				w.placePlain(f, m, worst)
			}
		}
		w.placeSequentially(f, worst, false)
	}
}

// window is how many nodes with room, in the order of targets, are compared for a pod.
const window = 16

// placePlain puts pods that no constraint beyond their host binds where they leave the room best balanced, of the first
// targets that have room for them.
func (w *WhatIf) placePlain(f *fork, m *displacedClass, worst taintVerdict) {
	if m.full {
		return
	}
	found, roomy := w.roomyTargets(f, m, worst)
	m.full = !roomy && len(w.s.journal.nodes) == 0
	for m.left > 0 && len(found) > 0 {
		at := w.mostBalanced(m, found)
		got := w.put(f, m, m.item, found[at], m.left, worst)
		m.left -= got
		if got == 0 || !m.class.req.Fits(found[at].room) {
			found = slices.Delete(found, at, at+1)
		}
		if m.left > 0 && len(found) == 0 {
			found, _ = w.roomyTargets(f, m, worst)
			if got == 0 && len(found) > 0 {
				return // constraints by host, not room, are in the way
			}
		}
	}
}

// roomyTargets are the first targets with room for a pod of the class; roomy says whether there is any, whether it may be
// used now or not.
func (w *WhatIf) roomyTargets(f *fork, m *displacedClass, worst taintVerdict) (found []*node, roomy bool) {
	req := m.class.req
	w.nodes = w.nodes[:0]
	for i := range w.targets.strips {
		b := &w.targets.strips[i]
		w.scanned++
		if len(b.nodes) == 0 || !req.Fits(b.most) {
			continue
		}
		for _, n := range b.nodes {
			if !req.Fits(n.room) {
				continue
			}
			roomy = true
			if f.isAway[n.id] || w.s.fitsKind(m.item, n) > worst || w.s.hostCap(m.class, &n.host, 1) == 0 ||
				portsConflict(m.class.src.HostPorts, n.ports) {
				continue
			}
			if w.nodes = append(w.nodes, n); len(w.nodes) == window {
				return w.nodes, true
			}
		}
		w.scanned += int64(len(b.nodes) / 4)
	}
	return w.nodes, roomy
}

// mostBalanced is the position of the node whose room is left most even by one pod of the class; of equals the first.
func (w *WhatIf) mostBalanced(m *displacedClass, nodes []*node) int {
	best, least := 0, 0.0
	for at, n := range nodes {
		if x := w.imbalance(n, m.class.req) - w.imbalance(n, nil); at == 0 || x < least-1e-9 {
			best, least = at, x
		}
	}
	return best
}

// imbalance is how far apart the shares of room are that a node has left of what matters most, once a pod has come.
func (w *WhatIf) imbalance(n *node, pod res.Vector) float64 {
	low, high := 1.0, 0.0
	for _, r := range w.scarce {
		all := float64(w.total[n.id][r])
		if all <= 0 {
			continue
		}
		left := n.room[r]
		if pod != nil {
			left -= pod[r]
		}
		share := max(0, float64(left)/all)
		low, high = min(low, share), max(high, share)
	}
	return high - low
}

// put places up to want pods of the displaced class on the node, as the item says.
func (w *WhatIf) put(f *fork, m *displacedClass, it *podGroup, n *node, want int, worst taintVerdict) int {
	s := w.s
	if s.fitsKind(it, n) > worst || (!n.settled() && !f.anyNode) || s.hostCap(m.class, &n.host, want) == 0 {
		return 0
	}
	before := it.left
	it.left = want
	got := s.placeOnNode(it, n, want, worst)
	it.left = before
	if got > 0 {
		f.counted = append(f.counted, counted{m.class, n, got})
	}
	return got
}

// placeSequentially places the pods whose places depend on each other, going round until nothing moves any more.
func (w *WhatIf) placeSequentially(f *fork, worst taintVerdict, mayLaunch bool) {
	for moved := true; moved; {
		moved = false
		for _, m := range f.displaced {
			for m.sequential && m.item != nil && m.left > 0 && w.placeNext(f, m, worst, mayLaunch) {
				moved = true
			}
		}
	}
}

// placeNext places the next pod of a sequential class, or all that have to share one host.
func (w *WhatIf) placeNext(f *fork, m *displacedClass, worst taintVerdict, mayLaunch bool) bool {
	among := ways
	if !mayLaunch {
		among = onNode + 1
	}
	return placeOne(w.pins(m), m.class.together(m.left), among, func(way int, it *podGroup, want int) bool {
		before := it.left
		it.left, it.pool = want, nil
		w.s.journal.item(it)
		var got int
		if way == onNode {
			got = w.nodeForAll(f, m, it, want, worst)
		} else {
			got = w.s.onNewNode(way, it, want, worst)
		}
		it.left = before
		m.left -= got
		return got > 0
	})
}

// nodeForAll places all of the pods on the first target that has room for them.
func (w *WhatIf) nodeForAll(f *fork, m *displacedClass, it *podGroup, want int, worst taintVerdict) int {
	req := m.class.req
	for i := range w.targets.strips {
		b := &w.targets.strips[i]
		w.scanned++
		if len(b.nodes) == 0 || !req.Fits(b.most) {
			continue
		}
		for _, n := range b.nodes {
			if f.isAway[n.id] || !req.Fits(n.room) || req.Times(n.room, want) < want {
				continue
			}
			if w.s.hostCap(m.class, &n.host, want) < want {
				continue
			}
			if got := w.put(f, m, it, n, want, worst); got > 0 {
				return got
			}
		}
		w.scanned += int64(len(b.nodes) / 4)
	}
	return 0
}

// launch opens new nodes for what found no place on nodes. It is false if pods came to stand unevenly by it.
func (w *WhatIf) launch(f *fork, work int64) bool {
	s := w.s
	var spread []dealt
	for _, worst := range []taintVerdict{bears, avoids} {
		more := w.deal(f, worst)
		spread = append(spread, more...)
		w.placeSequentially(f, worst, true)
		s.podGroups = s.podGroups[:0]
		for _, m := range f.displaced {
			if m.sequential || m.item == nil || m.left == 0 {
				continue
			}
			m.item.left, m.item.total, m.item.pool = m.left, m.left, nil
			s.podGroups = append(s.podGroups, m.item)
		}
		for _, d := range more {
			s.podGroups = append(s.podGroups, d.item)
		}
		w.sortItems()
		w.uncount(more)
		s.launchAll(worst)
		for _, m := range f.displaced {
			if !m.sequential && m.item != nil && m.left > 0 {
				m.left = m.item.left
			}
		}
		takeBack(more)
		w.placeSequentially(f, worst, true)
	}
	if len(s.newNodes) > 1 {
		s.merge()
		w.improve(spread, work)
	}
	slices.SortStableFunc(s.newNodes, func(a, b *newNode) int {
		return cmp.Or(cmp.Compare(b.price, a.price), cmp.Compare(a.pool.rank, b.pool.rank), cmp.Compare(a.name(), b.name()))
	})
	return !w.uneven(spread)
}

// sortItems puts the items in the order of their displaced classes, which is hardest first.
func (w *WhatIf) sortItems() {
	slices.SortStableFunc(w.s.podGroups, func(a, b *podGroup) int {
		return cmp.Or(cmp.Compare(w.orderOf[a.class], w.orderOf[b.class]), cmp.Compare(a.pin, b.pin))
	})
}

// improve packs the launched new nodes anew as far as topology leaves them free. Pods that were dealt out to domains stay in
// theirs, because their items demand them.
func (w *WhatIf) improve(spread []dealt, work int64) {
	s := w.s
	if work <= 0 {
		return
	}
	s.podGroups = s.podGroups[:0]
	for _, m := range s.newNodes {
		for _, q := range m.parts {
			if !slices.Contains(s.podGroups, q.item) {
				s.podGroups = append(s.podGroups, q.item)
			}
		}
	}
	for _, d := range spread {
		d.mover.class.topo.share, d.mover.class.sequential = d.group, false
	}
	w.sortItems()
	for _, p := range s.pools {
		if free := s.freeNodes(p); len(free) > 1 {
			left := work
			s.improvePool(p, free, &left)
			w.scanned += work - left
		}
	}
	for _, d := range spread {
		d.mover.class.topo.share, d.mover.class.sequential = nil, d.mover.strict
	}
}
