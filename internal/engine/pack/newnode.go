package pack

import (
	"cmp"
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// newNode is a node to launch.
type newNode struct {
	pool  *pool
	shape *shape
	parts []part
	used  res.Vector // by pods, daemons not counted
	ports []cluster.HostPort
	host  hostState
	types catalog.TypeSet // that carry the pods, within the limits
	best  int             // the cheapest of them
	price catalog.MicroUSD
	// worth of the pods, and how many other types were weighed against the chosen one.
	worth      int64
	weighed    int
	carriers   int // how many types carry the pods, those too that are too dear to be listed
	runnerUp   string
	sequential bool
	ranked     bool         // filled with pods of one rank only
	reserved   *reservation // that it is opened out of
	gone       bool         // merged into another
	at         int          // in the solver's list of spare room
	charged    []int64      // against the pool's limits
	// What it takes of a subnet, in a part of a pool that counts addresses.
	subnet    *subnet
	addresses int64
}

// fits holds the types of m's shape that carry what is on m.
func (m *newNode) fits() catalog.TypeSet {
	return m.pool.carrying(m.shape, m.used, m.ports)
}

// carrying holds the affordable types of sh that carry used and its daemons and whose daemons leave the ports free.
func (p *pool) carrying(sh *shape, used res.Vector, ports []cluster.HostPort) catalog.TypeSet {
	out := catalog.NewTypeSet(p.cat.Len())
	want := make(res.Vector, len(used))
	for i := range p.burdens {
		b := &p.burdens[i]
		if len(ports) > 0 && portsConflict(ports, b.ports) {
			continue
		}
		some := b.types.Clone()
		some.And(sh.types)
		some.And(p.affordable)
		if !some.Any() {
			continue
		}
		copy(want, used)
		want.Add(b.req, 1)
		p.cat.KeepFitting(some, want)
		out.Or(some)
	}
	return out
}

func (m *newNode) name() string { return m.pool.cat.Types[m.best].Name }

// betterThan compares by worth of pods per price, then by fewer new nodes, then by name.
func (m *newNode) betterThan(o *newNode) bool {
	a, b := float64(m.worth)/float64(max(m.price, 1)), float64(o.worth)/float64(max(o.price, 1))
	if a != b {
		return a > b
	}
	return cmp.Or(cmp.Compare(o.worth, m.worth), cmp.Compare(m.name(), o.name())) < 0
}

// count is how many pods of the item are on m.
func (m *newNode) count(it *podGroup) int {
	n := 0
	for _, q := range m.parts {
		if q.item == it {
			n += q.n
		}
	}
	return n
}

// settle finds the cheapest type that carries what is on m; -1 if there is none.
func (m *newNode) settle(lead [2]int, scratch res.Vector) int {
	p := m.pool
	for _, t := range m.shape.order[m.shape.reaching(lead, m.used):] {
		if !m.used.Fits(p.net[t]) || !p.affordable.Has(t) {
			continue
		}
		if len(m.ports) > 0 && portsConflict(m.ports, p.burdens[p.burdenOf[t]].ports) {
			continue
		}
		m.price, m.best = m.shape.price[t], t
		copy(scratch, p.net[t])
		scratch.Sub(m.used, 1)
		return t
	}
	return -1
}

// settleAll finds the types that m is to be launched as, and the cheapest of them.
func (m *newNode) settleAll() {
	m.types = m.fits()
	m.best = m.shape.cheapest(m.types)
	m.price = m.shape.price[m.best]
	m.carriers = m.types.Count()
	if !m.pool.hasMinValues {
		m.shape.dropDear(m.types, m.price, enoughTypes+m.soldOut())
	}
}

// soldOut is how many types would carry what is on m if they could be launched now.
func (m *newNode) soldOut() int {
	n := 0
	for t := range m.shape.out.Each {
		if m.used.Fits(m.pool.net[t]) {
			n++
		}
	}
	return n
}

// A launch may choose among many types: one that is short of capacity, or likely to be interrupted, can be passed over.
// But what it chooses has to be paid. So all types within closeBy of the cheapest price are listed, and as long as they
// are fewer than enoughTypes, others that cost up to farOff of it. Whoever wants more variety says so by minValues, which
// keeps all types in.
//
// Each type that would do but is sold out makes room for one more: where some were refused just now, others are likely to
// be, and a list that ends soon is asked for again and again.
//
// Fifteen is the number from which Amazon's spot fleets, and the rule for moving from spot to spot, take a choice for wide.
const (
	closeBy     = 1.25
	farOff      = 2.0
	enoughTypes = 15
)

// dropDear takes the types out of the set whose price is not worth the flexibility, as the constants above say.
func (sh *shape) dropDear(types catalog.TypeSet, cheapest catalog.MicroUSD, enough int) {
	kept := 0
	for _, t := range sh.order {
		if !types.Has(t) {
			continue
		}
		price := float64(sh.price[t])
		if price <= closeBy*float64(cheapest) || kept < enough && price <= farOff*float64(cheapest) {
			kept++
			continue
		}
		types.Remove(t)
	}
}

// cost efficiency is what a pod of the item is worth, per what its share of type t costs: 1 on the type that suits it best.
func (it *podGroup) costEfficiency(sh *shape, t int) float64 {
	share := 0.0
	per := sh.pool.perNet[t]
	for r, x := range it.class.req {
		share = max(share, float64(x)*per[r])
	}
	return float64(it.on[sh.pool.rank].worth) / (share * float64(max(1, sh.price[t])) * 1000)
}

// keepsMinValues reports whether enough different types stay possible when n pods of the item come along; with
// MinValuesBestEffort also whether there were too few without them, or would be with a single pod on an empty node.
func (s *solver) keepsMinValues(m *newNode, next *shape, it *podGroup, n int) bool {
	if !m.pool.hasMinValues {
		return true
	}
	short := func(sh *shape, n int) bool {
		used, ports := m.used.Clone(), m.ports
		if n > 0 {
			used.Add(it.class.req, n)
			used.Add(it.class.firstOf(m.parts), 1)
			ports = append(slices.Clone(ports), it.class.src.HostPorts...)
		}
		_, _, _, short := s.minValuesShort(sh, m.pool.carrying(sh, used, ports))
		return short
	}
	switch {
	case !short(next, n):
		return true
	case !s.p.Options.MinValuesBestEffort:
		return false
	case slices.ContainsFunc(it.class.topo.host, func(d demand) bool { return d.group.kind == attracting }):
		return true // these pods have to be on one host
	case len(m.parts) == 0:
		return short(next, 1)
	}
	return short(m.shape, 0)
}

// alone is the price of the cheapest new node for want pods of the item by themselves.
func (s *solver) alone(it *podGroup, p *pool, want int) catalog.MicroUSD {
	if s.reservable(it, p, want) {
		return 0
	}
	v := s.view(it, p)
	if v.shape == nil {
		return catalog.NoPrice
	}
	used := it.class.req.Clone()
	used.Add(it.class.req, want-1)
	used.Add(it.class.shared, 1)
	t := v.shape.cheapest(p.carrying(v.shape, used, it.class.src.HostPorts))
	if t < 0 || s.hostCap(it.class, nil, want) < want {
		return catalog.NoPrice
	}
	return v.shape.price[t]
}
