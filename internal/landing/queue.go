package landing

import (
	"slices"

	"github.com/kerf-sh/kerf/internal/cluster"
	"github.com/kerf-sh/kerf/internal/res"
)

// queue holds the seats of a lane, the best first. A seat only gets worse while pods land, so that what stands in the queue
// of it is never too little: it is worked out anew when it comes to the front.
type queue struct {
	heaps [][]entry // by part of the lane
	late  []entry   // scratch
}

type entry struct {
	worth   uint64
	seat    int32
	version int32
	avoided bool
}

func newQueue(l *landing, ln *lane) *queue {
	q := &queue{heaps: make([][]entry, len(ln.parts))}
	for p := range ln.parts {
		h := make([]entry, 0, len(ln.parts[p].seats))
		for _, at := range ln.parts[p].seats {
			if l.seats[at.seat].open && ln.kind.req.Fits(l.room(int(at.seat))) {
				h = append(h, l.entry(ln.kind, at))
			}
		}
		for i := len(h)/2 - 1; i >= 0; i-- {
			sink(h, i)
		}
		q.heaps[p] = h
	}
	return q
}

func (l *landing) entry(k *kind, at place) entry {
	e := entry{seat: at.seat, avoided: at.verdict == avoided}
	l.renew(k, &e)
	return e
}

// renew works out what a seat is worth to a pod now: the part of its processor and memory that is left once the pod has
// come, in percent; seats whose taints ask to be avoided come last, and of equals those that the order puts first.
//
// Source: kube-scheduler, NodeResourcesFit with LeastAllocated, cpu and memory of weight 1.
func (l *landing) renew(k *kind, e *entry) {
	s, now := l.b.seats[e.seat], &l.seats[e.seat]
	score := (left(s.cpu, now.usedCPU+k.cpu) + left(s.memory, now.usedMemory+k.memory)) / 2
	e.worth = uint64(score)<<32 | uint64(^uint32(now.tie))
	if !e.avoided {
		e.worth |= 1 << 60
	}
	e.version = now.version
}

func left(all, used int64) int64 {
	if all <= 0 || used > all {
		return 0
	}
	return (all - used) * 100 / all
}

// enter adds a seat that has just come.
func (q *queue) enter(l *landing, ln *lane, seat int) {
	for p := range ln.parts {
		for _, at := range ln.parts[p].seats {
			if int(at.seat) == seat {
				q.push(p, l.entry(ln.kind, at))
			}
		}
	}
}

// best is the seat that a pod goes to; -1 if there is none.
func (q *queue) best(l *landing, ln *lane, v *visitor) int {
	first := len(v.kind.demands) > 0 && l.first(v.kind)
	best, from := entry{seat: -1}, -1
	for p := range q.heaps {
		if len(q.heaps[p]) == 0 || l.barred(ln.wide, ln.parts[p].domains, first) {
			continue
		}
		if e, ok := q.front(l, ln, p, v, first); ok && (from < 0 || e.worth > best.worth) {
			best, from = e, p
		}
	}
	return int(best.seat)
}

func (l *landing) barred(demands []demand, domains []int, first bool) bool {
	for i := range demands {
		if l.bars(&demands[i], domains[i], first) {
			return true
		}
	}
	return false
}

// front is the best seat of a part that takes the pod. What will never take a pod of the lane again leaves the queue.
func (q *queue) front(l *landing, ln *lane, p int, v *visitor, first bool) (found entry, ok bool) {
	q.late = q.late[:0]
	for len(q.heaps[p]) > 0 {
		h := q.heaps[p]
		top := &h[0]
		seat := int(top.seat)
		now := &l.seats[seat]
		s := l.b.seats[seat]
		switch {
		case !now.open:
			q.pop(p)
			continue
		case top.version != now.version:
			if !ln.kind.req.Fits(l.room(seat)) {
				q.pop(p)
				continue
			}
			l.renew(ln.kind, top)
			sink(h, 0)
			continue
		}
		if l.takenOn(v.kind.class, seat) {
			q.pop(p)
			continue
		}
		if s.late && v.from >= 0 && l.order == StepByStep || l.barredOn(ln.host, seat, first) {
			q.late = append(q.late, *top)
			q.pop(p)
			continue
		}
		found, ok = *top, true
		break
	}
	for _, e := range q.late {
		q.push(p, e)
	}
	return found, ok
}

func (l *landing) barredOn(demands []demand, seat int, first bool) bool {
	for i := range demands {
		if d := &demands[i]; l.bars(d, d.tally.column.of[seat], first) {
			return true
		}
	}
	return false
}

// takenOn reports whether ports or volumes keep pods of the class off a seat, for good.
func (l *landing) takenOn(c *cluster.Class, seat int) bool {
	if len(c.HostPorts)+len(c.Attach)+len(c.Shared) == 0 {
		return false
	}
	n := l.b.seats[seat].node
	classes := slices.Clone(l.seats[seat].guests)
	for _, pod := range n.Pods {
		if pod.Class != nil {
			classes = append(classes, pod.Class)
		}
	}
	for _, o := range classes {
		for _, p := range c.HostPorts {
			if slices.ContainsFunc(o.HostPorts, p.Conflicts) {
				return true
			}
		}
	}
	return overAttached(append(classes, c), c, n.AttachLimits)
}

// overAttached reports whether the classes together attach more volumes of a driver that c uses than a node may.
func overAttached(classes []*cluster.Class, c *cluster.Class, limits res.List) bool {
	if len(limits) == 0 || len(c.Attach)+len(c.Shared) == 0 {
		return false
	}
	count, once := res.List{}, map[cluster.SharedVolume]bool{}
	for _, o := range classes {
		count.Add(o.Attach)
		for _, v := range o.Shared {
			if !once[v] {
				once[v] = true
				count[v.Driver]++
			}
		}
	}
	uses := func(driver string) bool {
		return c.Attach[driver] > 0 || slices.ContainsFunc(c.Shared, func(v cluster.SharedVolume) bool { return v.Driver == driver })
	}
	for driver, most := range limits {
		if uses(driver) && count[driver] > most {
			return true
		}
	}
	return false
}

func (q *queue) push(p int, e entry) {
	h := append(q.heaps[p], e)
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if h[up].worth >= h[i].worth {
			break
		}
		h[up], h[i] = h[i], h[up]
		i = up
	}
	q.heaps[p] = h
}

func (q *queue) pop(p int) {
	h := q.heaps[p]
	last := len(h) - 1
	h[0] = h[last]
	q.heaps[p] = h[:last]
	sink(q.heaps[p], 0)
}

func sink(h []entry, i int) {
	for {
		down := 2*i + 1
		if down >= len(h) {
			return
		}
		if other := down + 1; other < len(h) && h[other].worth > h[down].worth {
			down = other
		}
		if h[i].worth >= h[down].worth {
			return
		}
		h[i], h[down] = h[down], h[i]
		i = down
	}
}
