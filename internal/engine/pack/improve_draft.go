package pack

import (
	"cmp"
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// draft is a new node as the improvement would launch it.
type draft struct {
	shape *shape
	loads []load
	used  res.Vector
	host  hostState
	ports []cluster.HostPort
	best  int // the cheapest type that carries it
	price catalog.MicroUSD
	worth float64
}

// appraise adds up what the pods on d are worth now.
func (d *draft) appraise() {
	d.worth = 0
	for _, q := range d.loads {
		d.worth += float64(q.lot.value * float64(q.n))
	}
}

// load is some pods of a lot.
type load struct {
	lot *itemType
	n   int
}

// packer fills drafts for one pool.
type packer struct {
	s    *solver
	pool *pool
	room res.Vector
	work int64
	// spare is filled next, held is the best so far; both are used again and again.
	spare, held *draft
	tried       []*itemType // of a row
	// left and per are scratch space of balance.
	left []int
	per  []float64
}

func newPacker(s *solver, p *pool) *packer {
	n := s.schema.Len()
	return &packer{s: s, pool: p, room: make(res.Vector, n), spare: &draft{used: make(res.Vector, n)}, held: &draft{used: make(res.Vector, n)}, per: make([]float64, n)}
}

// start makes the spare draft empty.
func (k *packer) start(t int) *draft {
	copy(k.room, k.pool.net[t])
	d := k.spare
	clear(d.used)
	d.shape, d.best, d.price, d.worth = k.pool.base, -1, 0, 0
	d.loads, d.ports, d.host.at = d.loads[:0], d.ports[:0], d.host.at[:0]
	return d
}

// hold keeps the spare draft until the next call.
func (k *packer) hold() *draft {
	k.spare, k.held = k.held, k.spare
	return k.held
}

// put adds up to want pods of the lot to a draft that is to be of type t, with what room is left on it, unless they
// would make it dearer than they are worth. It reports how many it added; they still count as left.
func (k *packer) put(d *draft, l *itemType, t, want int) int {
	c := l.item.class
	k.work++
	n := c.req.Times(k.room, want)
	if n == 0 {
		return 0
	}
	k.work += 8
	if n = k.s.hostCap(c, &d.host, n); n == 0 {
		return 0
	}
	if ports := c.src.HostPorts; len(ports) > 0 {
		n = min(n, 1)
		if portsConflict(ports, d.ports) || portsConflict(ports, k.pool.burdens[k.pool.burdenOf[t]].ports) {
			return 0
		}
	}
	next := k.s.join(d.shape, l.item, t)
	if next == nil {
		return 0
	}
	if len(d.loads) > 0 && float64(next.price[t]-d.shape.price[t]) > l.value*float64(n) {
		return 0
	}
	d.add(k.s, l, n)
	d.shape = next
	k.room.Sub(c.req, n)
	return n
}

func (d *draft) add(s *solver, l *itemType, n int) {
	c := l.item.class
	if i := slices.IndexFunc(d.loads, func(q load) bool { return q.lot == l }); i >= 0 {
		d.loads[i].n += n
	} else {
		d.loads = append(d.loads, load{l, n})
	}
	d.used.Add(c.req, n)
	d.ports = append(d.ports, c.src.HostPorts...)
	d.worth += float64(l.value * float64(n))
	s.hostAdd(c, &d.host, n)
}

// settle finds the cheapest type for what is on d, knowing that type t carries it; false if there is none.
func (k *packer) settle(d *draft, t int) bool {
	p := k.pool
	for i, at := range d.shape.order {
		if at != t && (!d.used.Fits(p.net[at]) || !p.affordable.Has(at)) {
			continue
		}
		if len(d.ports) > 0 && portsConflict(d.ports, p.burdens[p.burdenOf[at]].ports) {
			continue
		}
		d.best, d.price = at, d.shape.price[at]
		k.work += int64(1 + i/4)
		return len(d.loads) > 0
	}
	return false
}

// take removes what is on d from what is left.
func (d *draft) take() {
	for _, q := range d.loads {
		q.lot.left -= q.n
	}
}

// giveBack is the contrary of take.
func (d *draft) giveBack() {
	for _, q := range d.loads {
		q.lot.left += q.n
	}
}

// again reports whether what is left would fill another draft like d.
func (d *draft) again() bool {
	for _, q := range d.loads {
		if q.lot.left < q.n {
			return false
		}
	}
	return true
}

// clone is a draft with the same pods of the same item types.
func (d *draft) clone() *draft {
	out := *d
	out.loads, out.used, out.host, out.ports = slices.Clone(d.loads), d.used.Clone(), d.host.clone(), slices.Clone(d.ports)
	return &out
}

// packAll fills drafts with all that is left of the item types: always the draft that carries the most worth per price. False if
// something found no place. The order of item types matters only where they are filled in turn.
func (k *packer) packAll(lots []*itemType, kinds []int, inTurn bool) ([]*draft, bool) {
	var out []*draft
	lots = slices.Clone(lots)
	for {
		lots = slices.DeleteFunc(lots, func(l *itemType) bool { return l.left == 0 })
		if len(lots) == 0 {
			return out, true
		}
		k.work += int64(1 + len(lots)/8)
		var best *draft
		for _, t := range kinds {
			d := k.fill(lots, t, inTurn)
			if d != nil && (best == nil || d.betterThan(best)) {
				best = k.hold()
			}
		}
		if best == nil {
			t := k.cheapestFor(lots[0])
			if t < 0 {
				return out, false
			}
			if k.fill(lots[:1], t, true) == nil {
				return out, false
			}
			best = k.hold()
		}
		for {
			d := best.clone()
			d.take()
			out = append(out, d)
			if !d.again() {
				break
			}
		}
	}
}

// fill takes item types along as long as there is room: in turn, or always what is worth most for what it takes of the room
// that is left.
func (k *packer) fill(lots []*itemType, t int, inTurn bool) *draft {
	d := k.start(t)
	if inTurn {
		for _, l := range lots {
			if l.left > 0 {
				k.put(d, l, t, l.left)
			}
		}
	} else {
		k.balance(d, lots, t)
	}
	if !k.settle(d, t) {
		return nil
	}
	return d
}

// balance fills the draft so that no resource runs out long before the others.
func (k *packer) balance(d *draft, lots []*itemType, t int) {
	k.left = k.left[:0]
	for _, l := range lots {
		k.left = append(k.left, l.left)
	}
	for {
		for r, x := range k.room {
			k.per[r] = 1 / max(float64(x), 1e-9)
		}
		best, ratio, fit := -1, 0.0, 0.0
		k.work += int64(len(lots))
		for i, l := range lots {
			if k.left[i] == 0 {
				continue
			}
			size, most := 0.0, 0.0
			for r, x := range l.item.class.req {
				share := float64(float64(x) * k.per[r])
				size += float64(share * share)
				most = max(most, share)
			}
			if most > 1 {
				k.left[i] = 0 // room only gets less
				continue
			}
			if v := float64(l.value * l.value); v > ratio*size {
				best, ratio, fit = i, v/size, 1/max(most, 1e-9)
			}
		}
		if best < 0 {
			return
		}
		l := lots[best]
		want := min(k.left[best], max(1, int(fit/2)))
		got := k.put(d, l, t, want)
		k.left[best] -= got
		if got < want {
			k.left[best] = 0
		}
	}
}

func (d *draft) betterThan(o *draft) bool {
	a, b := d.worth/float64(max(1, d.price)), o.worth/float64(max(1, o.price))
	if a != b {
		return a > b
	}
	return cmp.Or(cmp.Compare(o.worth, d.worth), cmp.Compare(d.best, o.best)) < 0
}

// cheapestFor is the cheapest type that carries a pod of the lot; -1 if there is none.
func (k *packer) cheapestFor(l *itemType) int {
	v := k.s.view(l.item, k.pool)
	if v.shape == nil {
		return -1
	}
	for _, t := range v.shape.order {
		if l.item.class.req.Fits(k.pool.net[t]) && k.pool.affordable.Has(t) {
			return t
		}
	}
	return -1
}

func priceOf(drafts []*draft) catalog.MicroUSD {
	sum := catalog.MicroUSD(0)
	for _, d := range drafts {
		sum += d.price
	}
	return sum
}
