package pack

import (
	"cmp"
	"slices"

	"github.com/kerf-sh/kerf/internal/catalog"
	"github.com/kerf-sh/kerf/internal/cluster"
	"github.com/kerf-sh/kerf/internal/res"
)

// draft is a machine as the improvement would buy it.
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
	lot *lot
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
	// live are lots to fill up with; next is where to go on, least what any of them asks for.
	live  []*lot
	next  int
	least res.Vector
}

func newPacker(s *solver, p *pool) *packer {
	n := s.schema.Len()
	return &packer{s: s, pool: p, room: make(res.Vector, n), spare: &draft{used: make(res.Vector, n)}, held: &draft{used: make(res.Vector, n)},
		least: make(res.Vector, n)}
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
func (k *packer) put(d *draft, l *lot, t, want int) int {
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

func (d *draft) add(s *solver, l *lot, n int) {
	c := l.item.class
	d.loads = append(d.loads, load{l, n})
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

// clone is a draft with the same pods of the same lots.
func (d *draft) clone() *draft {
	out := *d
	out.loads, out.used, out.host, out.ports = slices.Clone(d.loads), d.used.Clone(), d.host.clone(), slices.Clone(d.ports)
	return &out
}

// packAll fills drafts with all that is left of the lots, which stand in the order in which they are to be looked at:
// always the draft that carries the most worth per price. False if something found no place.
func (k *packer) packAll(lots []*lot, kinds []int) ([]*draft, bool) {
	var out []*draft
	lots = slices.Clone(lots)
	for {
		lots = slices.DeleteFunc(lots, func(l *lot) bool { return l.left == 0 })
		if len(lots) == 0 {
			return out, true
		}
		var best *draft
		for _, t := range kinds {
			if d := k.fill(lots, t); d != nil && (best == nil || d.betterThan(best)) {
				best = k.hold()
			}
		}
		if best == nil {
			t := k.cheapestFor(lots[0])
			if t < 0 {
				return out, false
			}
			if k.fill(lots, t) == nil {
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

// fill takes lots along in order as long as there is room, the first that fits whatever else.
func (k *packer) fill(lots []*lot, t int) *draft {
	d := k.start(t)
	for _, l := range lots {
		if l.left > 0 {
			k.put(d, l, t, l.left)
		}
	}
	if !k.settle(d, t) {
		return nil
	}
	return d
}

func (d *draft) betterThan(o *draft) bool {
	a, b := d.worth/float64(max(1, d.price)), o.worth/float64(max(1, o.price))
	if a != b {
		return a > b
	}
	return cmp.Or(cmp.Compare(o.worth, d.worth), cmp.Compare(d.best, o.best)) < 0
}

// cheapestFor is the cheapest type that carries a pod of the lot; -1 if there is none.
func (k *packer) cheapestFor(l *lot) int {
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

// follow fills a draft as a column says, with pods of its rows' lots; then with whatever else has a place.
func (k *packer) follow(m *model, col *column) *draft {
	t := m.kinds[col.kind].t
	d := k.start(t)
	missing := 0
	for i, r := range col.rows {
		want := int(col.n[i] + 0.5)
		for _, l := range m.rows[r].lots {
			if want == 0 {
				break
			}
			if l.left > 0 {
				want -= k.put(d, l, t, min(want, l.left))
			}
		}
		missing += want
	}
	if missing > 0 {
		k.topUp(d, t)
	}
	if !k.settle(d, t) {
		return nil
	}
	return d
}

// topUp fills what is left of d with lots of other rows, looking at so many of them at most and going on from there the
// next time.
func (k *packer) topUp(d *draft, t int) {
	const most = 48
	for range min(most, len(k.live)) {
		if !k.least.Fits(k.room) {
			return
		}
		if k.next++; k.next >= len(k.live) {
			k.next = 0
			k.refresh()
			if len(k.live) == 0 {
				return
			}
		}
		if l := k.live[k.next]; l.left > 0 && !d.holds(l) {
			k.put(d, l, t, l.left)
		}
	}
}

func (d *draft) holds(l *lot) bool {
	return slices.ContainsFunc(d.loads, func(q load) bool { return q.lot == l })
}

// refresh forgets lots of which nothing is left, and finds the least that any of the others asks for.
func (k *packer) refresh() {
	k.live = slices.DeleteFunc(k.live, func(l *lot) bool { return l.left == 0 })
	for i, l := range k.live {
		for r, x := range l.item.class.req {
			if i == 0 || x < k.least[r] {
				k.least[r] = x
			}
		}
	}
}

// realize makes drafts of the columns: first the whole machines, then those that are still mostly needed, and the rest
// by packAll.
func (k *packer) realize(m *model, r *relaxed, lots []*lot) ([]*draft, bool) {
	var out []*draft
	k.live, k.next = byWorth(lots), 0
	k.refresh()
	rest := make([]float64, len(r.columns))
	order := make([]int, len(r.columns))
	buy := func(i int, least float64) bool {
		d := k.follow(m, &r.columns[i])
		if d == nil || d.worth < least*float64(d.price) {
			return false
		}
		d = d.clone()
		d.take()
		out = append(out, d)
		return true
	}
	for i, x := range r.amount {
		order[i], rest[i] = i, x
		for rest[i] >= 1-1e-6 && buy(i, 0.9) {
			rest[i]--
		}
	}
	sortDescending(order, rest)
	for _, i := range order {
		for buy(i, 0.985) {
		}
	}
	var kinds []int
	for i := range r.columns {
		if t := m.kinds[r.columns[i].kind].t; !slices.Contains(kinds, t) {
			kinds = append(kinds, t)
		}
	}
	rest2, ok := k.packAll(byWorth(lots), kinds)
	return append(out, rest2...), ok
}

// byWorth orders lots by the worth of one pod, largest first: small ones fill what large ones leave.
func byWorth(lots []*lot) []*lot {
	out := slices.Clone(lots)
	slices.SortStableFunc(out, func(a, b *lot) int { return cmp.Compare(b.value, a.value) })
	return out
}
