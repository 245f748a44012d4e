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
	// Price per hour that machines for them cost at least.
	Price catalog.MicroUSD
	// Stuck says that no machine can be bought for one of them.
	Stuck bool
}

// strayWork is how many looks at a node may be spent on strays by one WhatIf: some tenths of a second.
const strayWork = 10_000_000

// landing is the cluster as the scheduler will fill it. Plan and scheduler disagree on it: a plan fills what is well used,
// the scheduler what is not.
type landing struct {
	room     []res.Vector     // by node, of those that stay
	came     []map[*mover]int // by node: pods of kept moves that have come to lie there
	machines []*landed        // that the kept moves have bought
	// undo is what the open question has changed of nodes, lent what it has put on machines that were kept, and fresh are its
	// own; known says that they were worked out, with found.
	undo  []undone
	lent  []lending
	fresh []*landed
	known bool
	found Strays
	spent int64
	// cpu and memory are where these are in a vector.
	cpu, memory int
}

// undone is pods that were put on a node, and the room that it had before.
type undone struct {
	id   int
	room res.Vector
	m    *mover
	n    int
}

type lending struct {
	on  *landed
	req res.Vector
}

// landed is a machine that is bought, as the scheduler will find it: empty.
type landed struct {
	m     *machine
	total res.Vector
	room  res.Vector
}

// Strays tells which pods of the last answer find no room if the scheduler puts each of them, the largest first, where
// the most is left: kube-scheduler's score for room, LeastAllocated. The moves that were kept are held to have come to lie
// so, too; pods of theirs that would lie on the nodes that go now are put once more. Pods that are bound by more than
// their room count as placed as planned, and so do all of a question that costs more than is left of strayWork.
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
	loose := w.loosePods(f)
	pods := 0
	for _, x := range loose {
		pods += x.n
	}
	looks := int64(pods) * int64(len(l.room)+len(l.machines)+len(w.s.bought))
	if pods == 0 || l.spent+looks > strayWork {
		return Strays{}
	}
	l.spent += looks
	l.known = true
	l.addFresh(w.s.bought)
	w.landAsPlanned(f, func(m *mover) bool { return !plain(m) })
	l.found = Strays{}
	sum, single := 0.0, catalog.MicroUSD(0)
	for _, x := range loose {
		lost := w.landPods(f, x.m, x.n)
		if lost == 0 {
			continue
		}
		l.found.Pods += lost
		l.found.Stuck = l.found.Stuck || !x.m.buyable && !w.reservable(x.m)
		sum += float64(x.m.floor * float64(lost))
		single = max(single, x.m.cheapest)
	}
	l.found.Price = max(catalog.MicroUSD(sum), single)
	return l.found
}

// plain reports whether the mover's pods only ask for room and for what a node is.
func plain(m *mover) bool {
	t := &m.class.topo
	return !m.careful && m.item != nil && len(t.host) == 0 && len(t.repels) == 0 && len(m.class.src.HostPorts) == 0 && m.class.shared == nil
}

// several are pods of one mover.
type several struct {
	m *mover
	n int
}

// loosePods are the plain pods that have to find a place when the fork's nodes go, the largest first: theirs, and those of
// kept moves that would have come to lie there.
func (w *WhatIf) loosePods(f *fork) []several {
	var out []several
	add := func(m *mover, n int) {
		if at := slices.IndexFunc(out, func(x several) bool { return x.m == m }); at >= 0 {
			out[at].n += n
		} else if n > 0 {
			out = append(out, several{m, n})
		}
	}
	for _, m := range f.movers {
		if plain(m) {
			add(m, len(m.pods))
		}
	}
	for _, id := range f.away {
		for m, n := range w.land.came[id] {
			add(m, n)
		}
	}
	slices.SortFunc(out, func(a, b several) int {
		return cmp.Or(cmp.Compare(b.m.item.hard.worth, a.m.item.hard.worth), cmp.Compare(a.m.order, b.m.order))
	})
	return out
}

func (w *WhatIf) newLanding() *landing {
	l := &landing{room: make([]res.Vector, len(w.s.nodes)), came: make([]map[*mover]int, len(w.s.nodes)), cpu: -1, memory: -1}
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

// addFresh adds machines as the scheduler finds them: empty but for daemons.
func (l *landing) addFresh(bought []*machine) {
	for _, m := range bought {
		l.fresh = append(l.fresh, &landed{m: m, total: m.pool.cat.Allocatable[m.best], room: m.pool.net[m.best].Clone()})
	}
}

// landAsPlanned lets pods of the fork's movers come to lie where they were planned to.
func (w *WhatIf) landAsPlanned(f *fork, which func(*mover) bool) {
	owner := make(map[*class]*mover, len(f.movers))
	for _, m := range f.movers {
		owner[m.class] = m
	}
	for _, t := range f.touched {
		for _, q := range t.node.placed {
			if m := owner[q.item.class]; which(m) {
				w.land.take(t.node.id, m, q.n)
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

// take puts pods on a node, and remembers what was there.
func (l *landing) take(id int, m *mover, n int) {
	l.undo = append(l.undo, undone{id, l.room[id], m, n})
	l.room[id] = l.room[id].Clone()
	l.room[id].Sub(m.class.req, n)
}

// landPods puts n pods of the mover one by one where the most is left, and returns how many find no room.
func (w *WhatIf) landPods(f *fork, m *mover, n int) int {
	l, s := w.land, w.s
	var nodes []int
	for id, x := range s.nodes {
		if !f.isAway[id] && !w.gone[id] && x.settled() && !x.src.Deleting && m.class.req.Fits(l.room[id]) && s.fitsKind(m.item, x) != barred {
			nodes = append(nodes, id)
		}
	}
	var machines []*landed
	for _, x := range slices.Concat(l.machines, l.fresh) {
		if w.admits(x.m, m) {
			machines = append(machines, x)
		}
	}
	for i := range n {
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
			l.lent = append(l.lent, lending{on, m.class.req})
		case at >= 0:
			l.take(at, m, 1)
		default:
			return n - i
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
		l.addFresh(w.s.bought)
		w.landAsPlanned(w.fork, func(*mover) bool { return true })
	}
	for _, u := range l.undo {
		if !plain(u.m) {
			continue // where it goes next is planned
		}
		if l.came[u.id] == nil {
			l.came[u.id] = map[*mover]int{}
		}
		l.came[u.id][u.m] += u.n
	}
	l.machines = append(l.machines, l.fresh...)
	l.settle()
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
	for _, x := range l.lent {
		x.on.room.Add(x.req, 1)
	}
	l.settle()
}

func (l *landing) settle() { l.undo, l.lent, l.fresh, l.known = nil, nil, nil, false }
