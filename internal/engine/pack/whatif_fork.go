package pack

import (
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/plan"
)

// fork is one question under way. What it changed stands in the solver's journal.
type fork struct {
	away      []int // nodes that go
	isAway    map[int]bool
	displaced []*displacedClass
	counted   []counted
	// anyNode lets nodes that are not initialized be used; only pending pods may.
	anyNode bool
	worst   catalog.MicroUSD
}

// counted are pods that the fork counted on a node.
type counted struct {
	class *class
	node  *node
	n     int
}

// begin opens a fork in which the nodes and their pods are gone.
func (w *WhatIf) begin(away []int) *fork {
	w.Drop()
	f := &fork{away: away, isAway: make(map[int]bool, len(away))}
	w.fork = f
	w.s.journal.open()
	w.s.newNodes = nil
	for _, id := range away {
		f.isAway[id] = true
		w.takeAway(f, id)
	}
	slices.SortStableFunc(f.displaced, func(a, b *displacedClass) int { return a.order - b.order })
	return f
}

func (w *WhatIf) takeAway(f *fork, id int) {
	n, j := w.s.nodes[id], w.s.journal
	for _, h := range w.holds[id] {
		w.displace(f, h.mover, len(h.pods))
		h.mover.pods = append(h.mover.pods, h.pods...)
		h.mover.offSpot = h.mover.offSpot || n.src.CapacityType != catalog.Spot
		w.count(f, h.mover.class, n, -len(h.pods))
	}
	for _, x := range w.foreign[id] {
		j.group(x.group)
		x.group.total -= x.matched
		if d, ok := n.domain(x.group.keyID); ok && !x.group.byHost {
			x.group.counts[d] -= x.matched
			x.group.owners[d] -= x.owners
		}
	}
	for at := range w.ephemeral {
		if d, ok := w.ephemeral[at].of[id]; ok {
			j.leave(&w.ephemeral[at], d)
		}
	}
}

// displace says that n more pods of the displaced class have to be placed.
func (w *WhatIf) displace(f *fork, m *displacedClass, n int) {
	if m.left == 0 && len(m.pods) == 0 && !slices.Contains(f.displaced, m) {
		f.displaced = append(f.displaced, m)
		if m.item != nil {
			w.s.journal.item(m.item)
		}
	}
	m.left += n
}

func (w *WhatIf) count(f *fork, c *class, n *node, k int) {
	w.s.countOnNode(c, n, k)
	f.counted = append(f.counted, counted{c, n, k})
}

// Drop forgets the last answer. The next question does so too.
func (w *WhatIf) Drop() {
	if w.fork != nil {
		w.s.journal.undo()
		w.settleFork()
	}
}

// settleFork ends the fork and leaves everything as it is now.
func (w *WhatIf) settleFork() {
	for _, m := range w.fork.displaced {
		m.left, m.pods, m.offSpot = 0, m.pods[:0], false
	}
	w.s.journal.keep()
	w.s.newNodes, w.s.podGroups, w.fork = nil, nil, nil
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
	touched := slices.SortedFunc(slices.Values(w.s.journal.nodes), func(a, b notedNode) int { return a.node.id - b.node.id })
	for _, t := range touched {
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
