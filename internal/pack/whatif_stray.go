package pack

import (
	"cmp"
	"slices"

	"github.com/kerf-sh/kerf/internal/catalog"
	"github.com/kerf-sh/kerf/internal/res"
)

// Strays are pods of a move that would not find the room that was planned for them.
type Strays struct {
	Pods int
	// Price per hour of the cheapest machines that would carry them.
	Price catalog.MicroUSD
}

// strayWork is how many looks at a node may be spent on strays in all: some tenths of a second.
const strayWork = 10_000_000

// landing is the cluster as the scheduler will fill it. Plan and scheduler disagree on it: a plan fills what is well used,
// the scheduler what is not.
type landing struct {
	room     []res.Vector // by node, of those that stay
	machines []*landed    // that the kept moves have bought
	// undo is what the open question has changed of room, and fresh are its machines; known says that they were worked out, with found.
	undo  []undone
	fresh []*landed
	known bool
	found Strays
	spent int64
	// cpu and memory are where these are in a vector.
	cpu, memory int
}

type undone struct {
	id   int
	room res.Vector
}

// landed is a machine that is bought, as the scheduler will find it: empty.
type landed struct {
	m     *machine
	total res.Vector
	room  res.Vector
}

// Strays tells which pods of the last answer find no room if the scheduler puts each of them, the largest first, where
// the most is left: what Kubernetes calls LeastAllocated, its strongest score by default. The moves that were kept are held
// to have come to lie so, too. Pods that are bound by more than their room count as placed as planned, and so do all once
// strayWork is spent.
//
// Cost: one look at each node for each pod.
func (w *WhatIf) Strays() Strays {
	f, l := w.fork, w.land
	if f == nil {
		return Strays{}
	}
	if l != nil && l.known {
		return l.found
	}
	if l == nil {
		l = w.newLanding()
		w.land = l
	}
	plain := w.plainMovers(f)
	pods := 0
	for _, m := range plain {
		pods += len(m.pods)
	}
	looks := int64(pods) * int64(len(l.room)+len(l.machines)+len(w.s.bought))
	if pods == 0 || l.spent+looks > strayWork {
		return Strays{}
	}
	l.spent += looks
	l.known = true
	for _, m := range w.s.bought {
		l.fresh = append(l.fresh, &landed{m: m, total: m.pool.net[m.best], room: m.pool.net[m.best].Clone()})
	}
	w.landAsPlanned(f, func(m *mover) bool { return !slices.Contains(plain, m) })
	var out Strays
	sum, single := 0.0, catalog.MicroUSD(0)
	for _, m := range plain {
		lost := w.landPods(f, m)
		if lost == 0 {
			continue
		}
		out.Pods += lost
		sum += m.floor * float64(lost)
		single = max(single, m.cheapest)
	}
	out.Price = max(catalog.MicroUSD(sum), single)
	l.found = out
	return out
}

func (w *WhatIf) newLanding() *landing {
	l := &landing{room: make([]res.Vector, len(w.s.nodes)), cpu: -1, memory: -1}
	before := make(map[int]res.Vector, len(w.fork.touched))
	for _, t := range w.fork.touched {
		before[t.node.id] = t.was.room
	}
	for id, n := range w.s.nodes {
		if l.room[id] = before[id]; l.room[id] == nil {
			l.room[id] = n.room
		}
		l.room[id] = l.room[id].Clone()
	}
	if r, ok := w.s.schema.Index(res.CPU); ok {
		l.cpu = r
	}
	if r, ok := w.s.schema.Index(res.Memory); ok {
		l.memory = r
	}
	return l
}

// plainMovers are those of the fork whose pods only ask for room and for what a node is, the largest first, as they are
// evicted.
func (w *WhatIf) plainMovers(f *fork) []*mover {
	var out []*mover
	for _, m := range f.movers {
		t := &m.class.topo
		if m.careful || m.item == nil || len(m.pods) == 0 || len(t.host) > 0 || len(t.repels) > 0 || len(m.class.src.HostPorts) > 0 {
			continue
		}
		out = append(out, m)
	}
	slices.SortStableFunc(out, func(a, b *mover) int { return cmp.Compare(b.item.hard.worth, a.item.hard.worth) })
	return out
}

// landAsPlanned lets pods of the fork's movers come to lie where they were planned to.
func (w *WhatIf) landAsPlanned(f *fork, which func(*mover) bool) {
	owner := make(map[*class]*mover, len(f.movers))
	for _, m := range f.movers {
		owner[m.class] = m
	}
	for _, t := range f.touched {
		for _, q := range t.node.placed {
			if which(owner[q.item.class]) {
				w.land.take(t.node.id, q.item.class.req, q.n)
			}
		}
	}
	for _, x := range w.land.fresh {
		for _, q := range x.m.parts {
			if which(owner[q.item.class]) {
				x.room.Sub(q.item.class.req, q.n)
			}
		}
	}
}

// take uses room of a node, and remembers what it was.
func (l *landing) take(id int, req res.Vector, n int) {
	l.undo = append(l.undo, undone{id, l.room[id]})
	l.room[id] = l.room[id].Clone()
	l.room[id].Sub(req, n)
}

// landPods puts the mover's pods one by one where the most is left, and returns how many find no room.
func (w *WhatIf) landPods(f *fork, m *mover) int {
	l, s := w.land, w.s
	var nodes []int
	for id, n := range s.nodes {
		if !f.isAway[id] && !w.gone[id] && n.settled() && !n.src.Deleting && m.class.req.Fits(l.room[id]) && s.fitsKind(m.item, n) != barred {
			nodes = append(nodes, id)
		}
	}
	var machines []*landed
	for _, x := range slices.Concat(l.machines, l.fresh) {
		if w.admits(x.m, m) {
			machines = append(machines, x)
		}
	}
	for i := range m.pods {
		at, best := -1, int64(-1)
		for _, id := range nodes {
			if room := l.room[id]; m.class.req.Fits(room) {
				if score := l.score(room, w.total[id], m.class.req); score > best {
					at, best = id, score
				}
			}
		}
		var on *landed
		for _, x := range machines {
			if m.class.req.Fits(x.room) {
				if score := l.score(x.room, x.total, m.class.req); score > best {
					on, best = x, score
				}
			}
		}
		switch {
		case on != nil:
			on.room.Sub(m.class.req, 1)
		case at >= 0:
			l.take(at, m.class.req, 1)
		default:
			return len(m.pods) - i
		}
	}
	return 0
}

// admits reports whether pods of the mover may run on the machine.
func (w *WhatIf) admits(on *machine, m *mover) bool {
	return m.class.judge(on.pool.src.Taints) != barred &&
		slices.ContainsFunc(m.item.alts, func(alt int) bool { return w.s.and(on.shape, alt) != nil })
}

// score is how much of a node is left once a pod has come, in thousandths of processors and of memory.
func (l *landing) score(room, total, pod res.Vector) int64 {
	score := int64(0)
	for _, r := range [...]int{l.cpu, l.memory} {
		if r >= 0 && total[r] > 0 {
			score += 1000 * max(0, room[r]-pod[r]) / total[r]
		}
	}
	return score
}

// keepLanding makes what the open question has changed the ground of the next, as planned where nothing else is known.
func (w *WhatIf) keepLanding() {
	l := w.land
	if l == nil {
		return
	}
	if !l.known {
		for _, m := range w.s.bought {
			l.fresh = append(l.fresh, &landed{m: m, total: m.pool.net[m.best], room: m.pool.net[m.best].Clone()})
		}
		w.landAsPlanned(w.fork, func(*mover) bool { return true })
	}
	l.machines = append(l.machines, l.fresh...)
	l.undo, l.fresh, l.known = nil, nil, false
}

// dropLanding undoes what the open question has changed.
func (w *WhatIf) dropLanding() {
	l := w.land
	if l == nil {
		return
	}
	for i := len(l.undo) - 1; i >= 0; i-- {
		l.room[l.undo[i].id] = l.undo[i].room
	}
	l.undo, l.fresh, l.known = nil, nil, false
}
