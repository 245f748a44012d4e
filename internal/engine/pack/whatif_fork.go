package pack

import (
	"maps"
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/plan"
)

// fork is one question under way: what was changed for it, so that it can be dropped.
type fork struct {
	away      []int // nodes that go
	isAway    map[int]bool
	displaced []*displacedClass
	touched   []touch
	byNode    map[int]bool
	counted   []counted
	groups    []savedGroup
	limits    []savedLimits
	slots     []savedSlot
	subnets   []savedSubnet
	ephemeral []ephemeralSlot
	// anyNode lets nodes that are not initialized be used; only pending pods may.
	anyNode bool
	worst   catalog.MicroUSD
}

// touch is a node as it was before the fork.
type touch struct {
	node *node
	was  node
}

// counted are pods that the fork counted on a node.
type counted struct {
	class *class
	node  *node
	n     int
}

// savedGroup is what a group counted before the fork.
type savedGroup struct {
	group          *group
	counts, owners map[string]int
	total          int
}

// savedSlot is what was left of a reservation before the fork.
type savedSlot struct {
	reservation *reservation
	left        int
}

// savedSubnet is how many addresses were left before the fork.
type savedSubnet struct {
	subnet *subnet
	left   int64
}

type savedLimits struct {
	pool       *pool
	limited    []limit
	nodesLeft  int64
	affordable catalog.TypeSet
}

// ephemeralSlot is a node that left a domain which is there only while it has nodes.
type ephemeralSlot struct {
	at     int
	domain string
}

// begin opens a fork in which the nodes and their pods are gone.
func (w *WhatIf) begin(away []int) *fork {
	if w.fork != nil {
		w.drop()
	}
	f := &fork{away: away, isAway: make(map[int]bool, len(away)), byNode: map[int]bool{}}
	w.fork = f
	w.forks++
	w.s.newNodes = nil
	for _, p := range w.s.pools {
		for _, x := range p.slots {
			f.slots = append(f.slots, savedSlot{x.reservation, x.reservation.left})
		}
		if p.hasLimits() {
			f.limits = append(f.limits, savedLimits{p, slices.Clone(p.limited), p.nodesLeft, p.affordable.Clone()})
		}
	}
	for _, x := range w.s.subnets {
		f.subnets = append(f.subnets, savedSubnet{x, x.left})
	}
	for _, id := range away {
		f.isAway[id] = true
		w.takeAway(f, id)
	}
	slices.SortStableFunc(f.displaced, func(a, b *displacedClass) int { return a.order - b.order })
	return f
}

func (w *WhatIf) takeAway(f *fork, id int) {
	n := w.s.nodes[id]
	for _, h := range w.holds[id] {
		w.saveGroups(f, h.mover)
		f.add(h.mover, len(h.pods))
		h.mover.pods = append(h.mover.pods, h.pods...)
		w.count(f, h.mover.class, n, -len(h.pods))
	}
	for _, x := range w.foreign[id] {
		w.saveGroup(f, x.group)
		x.group.total -= x.matched
		if d, ok := n.domain(x.group.keyID); ok && !x.group.byHost {
			x.group.counts[d] -= x.matched
			x.group.owners[d] -= x.owners
		}
	}
	for at := range w.ephemeral {
		l := &w.ephemeral[at]
		d, ok := l.of[id]
		if !ok {
			continue
		}
		f.ephemeral = append(f.ephemeral, ephemeralSlot{at, d})
		if l.nodes[d]--; l.nodes[d] == 0 {
			delete(l.group.present, d)
			l.group.listed = nil
		}
	}
}

// saveGroups saves what the groups count that moving pods of the class may change.
func (w *WhatIf) saveGroups(f *fork, m *displacedClass) {
	for _, g := range m.class.topo.matched {
		w.saveGroup(f, g)
	}
	for i := range m.class.topo.wide {
		w.saveGroup(f, m.class.topo.wide[i].group)
	}
}

func (w *WhatIf) saveGroup(f *fork, g *group) {
	if w.savedIn[g.id] == w.forks {
		return
	}
	w.savedIn[g.id] = w.forks
	f.groups = append(f.groups, savedGroup{g, maps.Clone(g.counts), maps.Clone(g.owners), g.total})
}

// add says that n more pods of the displaced class have to be placed.
func (f *fork) add(m *displacedClass, n int) {
	if m.left == 0 && len(m.pods) == 0 && !slices.Contains(f.displaced, m) {
		f.displaced = append(f.displaced, m)
	}
	m.left += n
}

func (w *WhatIf) count(f *fork, c *class, n *node, k int) {
	w.s.countOnNode(c, n, k)
	f.counted = append(f.counted, counted{c, n, k})
}

// drop undoes all that the fork did.
func (w *WhatIf) drop() {
	f := w.fork
	for _, g := range f.groups {
		g.group.counts, g.group.owners, g.group.total = g.counts, g.owners, g.total
	}
	for i := range f.touched {
		*f.touched[i].node = f.touched[i].was
	}
	for _, l := range f.limits {
		l.pool.limited, l.pool.nodesLeft, l.pool.affordable = l.limited, l.nodesLeft, l.affordable
	}
	for _, x := range f.slots {
		x.reservation.left = x.left
	}
	for _, x := range f.subnets {
		x.subnet.left = x.left
	}
	for _, l := range f.ephemeral {
		at := &w.ephemeral[l.at]
		at.nodes[l.domain]++
		at.group.present[l.domain], at.group.listed = true, nil
	}
	w.settleFork()
}

// settleFork ends the fork and leaves everything as it is now.
func (w *WhatIf) settleFork() {
	f := w.fork
	for _, m := range f.displaced {
		m.left, m.pods = 0, m.pods[:0]
		if m.item != nil {
			m.item.left, m.item.total, m.item.pool = 0, 0, nil
		}
	}
	for i := range f.touched {
		f.touched[i].node.placed = nil
	}
	w.s.newNodes, w.s.podGroups, w.fork = nil, nil, nil
}

// touch saves the node before the fork changes it for the first time.
func (f *fork) touch(n *node) {
	if f.byNode[n.id] {
		return
	}
	f.byNode[n.id] = true
	was := *n
	was.room, was.host, was.ports = n.room.Clone(), n.host.clone(), slices.Clip(n.ports)
	f.touched = append(f.touched, touch{n, was})
}

// Drop forgets the last answer. The next question does so too.
func (w *WhatIf) Drop() {
	if w.fork != nil {
		w.drop()
	}
}

// Abandon lets the nodes go without a place for their pods; false, and nothing done, if pods were moved to be with them.
func (w *WhatIf) Abandon(away []int) bool {
	f := w.begin(away)
	if w.abandons(f) || w.unsettles(f) {
		w.drop()
		return false
	}
	for _, id := range away {
		w.gone[id] = true
	}
	w.targets.refresh(w, f)
	w.settleFork()
	return true
}

// Keep makes the last answer, which must have been without refusal, the ground of the next questions, and returns it.
func (w *WhatIf) Keep() *Moved {
	f := w.fork
	out := &Moved{Worst: f.worst}
	next := map[*displacedClass]int{}
	owner := make(map[*class]*displacedClass, len(f.displaced))
	for _, m := range f.displaced {
		owner[m.class] = m
	}
	take := func(parts []part) []cluster.PodRef {
		var refs []cluster.PodRef
		for _, q := range parts {
			m := owner[q.item.class]
			for _, pod := range m.pods[next[m] : next[m]+q.n] {
				refs = append(refs, pod.PodRef)
			}
			next[m] += q.n
		}
		sortRefs(refs)
		return refs
	}
	slices.SortFunc(f.touched, func(a, b touch) int { return a.node.id - b.node.id })
	for _, t := range f.touched {
		if len(t.node.placed) > 0 {
			out.Placements = append(out.Placements, plan.Placement{Node: t.node.src.Name, Pods: take(t.node.placed)})
			w.noteFollowed(t.node.placed, func(g *group) (string, bool) { return t.node.domain(g.keyID) })
		}
	}
	for _, m := range w.s.newNodes {
		out.NewNodes = append(out.NewNodes, w.s.newNodeWith(m, take(m.parts)))
		w.noteFollowed(m.parts, func(g *group) (string, bool) { d := w.s.settled(m.shape, g.keyID); return d, d != "" })
	}
	for _, id := range f.away {
		w.gone[id] = true
	}
	w.targets.refresh(w, f)
	w.settleFork()
	return out
}

// noteFollowed remembers how many pods were placed in domains where others count on them or they on others.
func (w *WhatIf) noteFollowed(parts []part, domain func(*group) (string, bool)) {
	for _, q := range parts {
		for _, g := range q.item.class.topo.wideIn {
			if d, ok := domain(g); ok && g.kind != repelling {
				w.arrived[followedDomain{g, d}] += q.n
			}
		}
		for i := range q.item.class.topo.wide {
			g := q.item.class.topo.wide[i].group
			if d, ok := domain(g); ok && g.kind == attracting {
				w.followed[followedDomain{g, d}] = true
			}
			w.arranged[g] = w.arranged[g] || g.kind == spreading
			if d, ok := domain(g); ok && g.kind == spreading && q.item.class.owns(g) {
				w.noteLevel(d, &q.item.class.topo.wide[i])
			}
		}
	}
}

// abandons reports whether the fork leaves a domain with none of the pods that others were moved there for, but such as
// were moved there themselves.
func (w *WhatIf) abandons(f *fork) bool {
	if len(w.followed) == 0 {
		return false
	}
	for _, m := range f.displaced {
		for _, g := range m.class.topo.wideIn {
			if g.kind != attracting {
				continue
			}
			for _, id := range f.away {
				d, ok := w.s.nodes[id].domain(g.keyID)
				at := followedDomain{g, d}
				if ok && w.followed[at] && g.counts[d]-w.arrived[at]-w.arriving(f, at) <= 0 {
					return true
				}
			}
		}
	}
	return false
}

// arriving counts the pods that the fork places in the domain.
func (w *WhatIf) arriving(f *fork, at followedDomain) int {
	n := 0
	for _, c := range f.counted {
		if d, ok := c.node.domain(at.group.keyID); ok && c.n > 0 && d == at.domain && slices.Contains(c.class.topo.wideIn, at.group) {
			n += c.n
		}
	}
	for _, m := range w.s.newNodes {
		for _, q := range m.parts {
			if w.s.settled(m.shape, at.group.keyID) == at.domain && slices.Contains(q.item.class.topo.wideIn, at.group) {
				n += q.n
			}
		}
	}
	return n
}

// unsettles reports whether pods that vanish would make a spread uneven that pods were moved by.
func (w *WhatIf) unsettles(f *fork) bool {
	return slices.ContainsFunc(f.displaced, func(m *displacedClass) bool {
		return slices.ContainsFunc(m.class.topo.wideIn, func(g *group) bool { return w.arranged[g] })
	})
}
