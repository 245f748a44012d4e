package landing

import (
	"cmp"
	"slices"

	"github.com/kerf-sh/kerf/internal/cluster"
	"github.com/kerf-sh/kerf/internal/res"
)

// Step is a part of what is done: nodes that go together, and those of the coming nodes, by number, that are there before.
type Step struct {
	Away  []string
	Comes []int
}

// Order is the order in which pods look for a place. Mixed and all above are orders that have nothing to do with what the
// pods are, each another.
type Order int

// The orders. Pods that waited before come first in the first, and have their turn like the others in the rest. In these
// the nodes of steps for which none comes go first, and all others together after them.
const (
	StepByStep Order = iota
	LargestLast
	LargestFirst
	Mixed
)

// Stuck is a pod that finds no place, with the node that it had; "" if it had none.
type Stuck struct {
	Pod  *cluster.Pod
	From string
}

// Land carries the steps out in an order and returns the pods that find no place.
//
// Cost: a few comparisons for each pod, and one look at every node for each class that asks for something else.
func (b *Board) Land(steps []Step, o Order) []Stuck {
	l := &landing{b: b, order: o, lanes: map[*lane]*queue{}}
	l.set()
	for _, phase := range b.phases(steps, o) {
		for _, i := range phase.comes {
			l.come(i)
		}
		for _, seat := range phase.away {
			l.close(seat)
		}
		l.placeAll(phase.pods)
	}
	var out []Stuck
	for _, v := range l.stuck {
		stuck := Stuck{Pod: v.pod}
		if v.from >= 0 {
			stuck.From = b.seats[v.from].node.Name
		}
		out = append(out, stuck)
	}
	return out
}

// phase is what happens at once: nodes come, others go, and then pods land one by one.
type phase struct {
	comes, away []int
	pods        []*visitor
}

func (b *Board) phases(steps []Step, o Order) []phase {
	ordered := slices.Clone(steps)
	slices.SortStableFunc(ordered, func(x, y Step) int { return cmp.Compare(min(1, len(x.Comes)), min(1, len(y.Comes))) })
	at := len(b.seats) - b.coming()
	out := []phase{{pods: slices.Clone(b.pending)}}
	for i := range ordered {
		p := phase{}
		for _, n := range ordered[i].Comes {
			p.comes = append(p.comes, at+n)
		}
		for _, name := range ordered[i].Away {
			seat, known := b.seatOf[name]
			if !known {
				continue
			}
			p.away = append(p.away, seat)
			own := b.leavers[seat]
			if o == StepByStep {
				out = append(out, phase{comes: p.comes, away: []int{seat}, pods: own})
				p = phase{}
				continue
			}
			p.pods = append(p.pods, own...)
		}
		if o == StepByStep {
			continue
		}
		if last := &out[len(out)-1]; len(ordered[i].Comes) == 0 || len(ordered[max(0, i-1)].Comes) > 0 && i > 0 {
			last.comes, last.away, last.pods = append(last.comes, p.comes...), append(last.away, p.away...), append(last.pods, p.pods...)
		} else {
			out = append(out, p)
		}
	}
	for i := range out {
		switch p := &out[i]; {
		case o == LargestFirst:
			p.pods = b.largestFirst(p.pods)
		case o == LargestLast:
			p.pods = b.largestFirst(p.pods)
			slices.Reverse(p.pods)
		case o >= Mixed:
			mix(p.pods, uint64(o))
		}
	}
	return out
}

func (b *Board) coming() int {
	n := 0
	for _, s := range b.seats {
		if s.coming {
			n++
		}
	}
	return n
}

// largestFirst is the pods in the order of their size; pods of one kind stay in the order in which they were.
func (b *Board) largestFirst(pods []*visitor) []*visitor {
	from := make([]int, len(b.kinds)+1)
	for _, v := range pods {
		from[v.kind.rank+1]++
	}
	for i := 1; i < len(from); i++ {
		from[i] += from[i-1]
	}
	out := make([]*visitor, len(pods))
	for _, v := range pods {
		out[from[v.kind.rank]] = v
		from[v.kind.rank]++
	}
	return out
}

// mix puts the pods into an order that has nothing to do with what they are, and is the same each time.
func mix(pods []*visitor, lot uint64) {
	state := uint64(len(pods))*0x9e3779b97f4a7c15 + lot
	for i := len(pods) - 1; i > 0; i-- {
		state ^= state << 13
		state ^= state >> 7
		state ^= state << 17
		j := int(state % uint64(i+1))
		pods[i], pods[j] = pods[j], pods[i]
	}
}

// landing is one run: what has changed since the board was made.
type landing struct {
	b     *Board
	order Order
	seats []seating
	rooms res.Vector // of all seats, one after the other
	width int
	tally []tallying
	lanes map[*lane]*queue
	stuck []*visitor
}

// seating is a seat in the course of a landing.
type seating struct {
	usedCPU, usedMemory int64
	version             int32
	open                bool
	tie                 int32
	guests              []*cluster.Class // those with ports or volumes
}

// tallying is a tally in the course of a landing.
type tallying struct {
	pods  []int
	total int
	// there is how many open seats each domain has, least the least count of one that is there, -1 when not known.
	there        []int
	domains      int
	least, holds int
}

func (l *landing) set() {
	b := l.b
	l.width = b.schema.Len()
	l.rooms = make(res.Vector, 0, l.width*len(b.seats))
	l.seats = make([]seating, len(b.seats))
	for i, s := range b.seats {
		l.rooms = append(l.rooms, s.room...)
		l.seats[i] = seating{usedCPU: s.usedCPU, usedMemory: s.usedMemory, open: !s.coming, tie: l.tie(i)}
	}
	l.tally = make([]tallying, len(b.tallies))
	for i, t := range b.tallies {
		x := &l.tally[i]
		x.pods, x.total, x.least = slices.Clone(t.pods), t.total, -1
		if !t.measured {
			continue
		}
		x.there = make([]int, t.column.n)
		for seat := range b.seats {
			if l.seats[seat].open {
				x.arrive(t, seat, 1)
			}
		}
	}
}

// tie is which of seats that are as good comes first. The scheduler draws lots.
func (l *landing) tie(seat int) int32 {
	switch {
	case l.order == LargestLast:
		return int32(len(l.seats) - seat)
	case l.order >= Mixed:
		return int32((uint32(seat+1)*2654435761 ^ uint32(l.order)*0x9e3779b9) * 2246822519 >> 8)
	}
	return int32(seat)
}

func (x *tallying) arrive(t *tally, seat, n int) {
	d := t.column.of[seat]
	if !t.measured || d < 0 || !t.on(seat) {
		return
	}
	before := x.there[d]
	x.there[d] += n
	if (before == 0) != (x.there[d] == 0) {
		x.domains += n
		x.least = -1
	}
}

func (l *landing) room(seat int) res.Vector { return l.rooms[seat*l.width : (seat+1)*l.width] }

// come opens a seat that was not there.
func (l *landing) come(seat int) {
	if l.seats[seat].open {
		return
	}
	l.seats[seat].open = true
	for i, t := range l.b.tallies {
		l.tally[i].arrive(t, seat, 1)
	}
	for ln, q := range l.lanes {
		q.enter(l, ln, seat)
	}
}

// close takes a seat away with all pods that are on it.
func (l *landing) close(seat int) {
	if !l.seats[seat].open {
		return
	}
	l.seats[seat].open = false
	for i, t := range l.b.tallies {
		l.tally[i].arrive(t, seat, -1)
	}
	if len(l.b.tallies) == 0 {
		return
	}
	for _, pod := range l.b.seats[seat].node.Pods {
		if k := l.b.classes[pod.Class]; k != nil && !pod.Terminating {
			l.count(k, seat, -1)
		}
	}
}

func (l *landing) count(k *kind, seat, n int) {
	for _, t := range k.counted {
		d := t.column.of[seat]
		if d < 0 || !t.on(seat) {
			continue
		}
		x := &l.tally[t.id]
		before := x.pods[d]
		x.pods[d] += n
		x.total += n
		switch {
		case n < 0:
			x.least = -1
		case x.least == before && x.there != nil && x.there[d] > 0:
			if x.holds--; x.holds == 0 {
				x.least = -1
			}
		}
	}
}

// floor is what a spread is measured from.
func (x *tallying) floor(minDomains int) int {
	if x.domains == 0 || x.domains < minDomains {
		return 0
	}
	if x.least < 0 {
		x.holds = 0
		for d, seats := range x.there {
			if seats == 0 {
				continue
			}
			if x.holds == 0 || x.pods[d] < x.least {
				x.least, x.holds = x.pods[d], 0
			}
			if x.pods[d] == x.least {
				x.holds++
			}
		}
	}
	return x.least
}

// bars reports whether a demand keeps pods out of a domain; together says what affinity has found: no pod of those it asks
// for anywhere.
func (l *landing) bars(d *demand, domain int, first bool) bool {
	x := &l.tally[d.tally.id]
	switch d.kind {
	case evenly:
		self := 0
		if d.self {
			self = 1
		}
		return x.pods[domain]+self-x.floor(d.minDomains) > d.skew
	case together:
		return !first && x.pods[domain] <= 0
	default:
		return domain >= 0 && x.pods[domain] > 0
	}
}

// first reports whether the kind asks for the company of pods of which there are none, and is one of them.
func (l *landing) first(k *kind) bool {
	for i := range k.demands {
		if d := &k.demands[i]; d.kind == together && (!d.self || l.tally[d.tally.id].total > 0) {
			return false
		}
	}
	return true
}

// placeAll places the pods one by one, and as long as that changes anything those again that found no place before: others
// have come since that they want to be with, or nodes.
func (l *landing) placeAll(pods []*visitor) {
	for more := true; more; {
		waiting := append(l.stuck, pods...)
		l.stuck, more = nil, false
		if pods == nil && len(waiting) == 0 {
			return
		}
		for _, v := range waiting {
			if l.place(v) {
				more = true
			} else {
				l.stuck = append(l.stuck, v)
			}
		}
		more = more && len(l.stuck) > 0
		pods = nil
	}
}

// place puts a pod where the scheduler would.
func (l *landing) place(v *visitor) bool {
	ln := l.b.lanes.laneOf(v.kind)
	q := l.lanes[ln]
	if q == nil {
		q = newQueue(l, ln)
		l.lanes[ln] = q
	}
	seat := q.best(l, ln, v)
	if seat < 0 {
		return false
	}
	s := &l.seats[seat]
	l.room(seat).Sub(v.kind.req, 1)
	s.usedCPU += v.kind.cpu
	s.usedMemory += v.kind.memory
	s.version++
	if c := v.kind.class; len(c.HostPorts)+len(c.Attach)+len(c.Shared) > 0 {
		s.guests = append(s.guests, c)
	}
	if len(v.kind.counted) > 0 {
		l.count(v.kind, seat, 1)
	}
	return true
}
