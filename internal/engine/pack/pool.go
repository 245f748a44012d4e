package pack

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// pool is a NodePool with what can be launched for it.
type pool struct {
	src    *cluster.Pool
	rank   int
	broken string // why nothing can be launched
	fault  string // the same, as far as it does not depend on the moment
	cat    *catalog.Catalog
	upkeep catalog.MicroUSD // Options.Upkeep
	reqs   requirement.Requirements
	base   *shape
	slots  []slot // of reservations, by ID
	// net is the allocatable of each type less the daemons that will run on it; burdens holds the types by which daemons
	// those are.
	net      []res.Vector
	perNet   [][]float64 // 1/net, 0 where net is not above zero
	burdens  []burden
	burdenOf []int

	limited   []limit
	nodesLeft int64 // -1: no limit
	// deferred and nodesWaived are limits that are not heeded, because they leave plenty.
	deferred      []limit
	nodesDeferred int64 // -1: none
	// affordable holds the types whose capacity is within what is left of the limits.
	affordable catalog.TypeSet

	shapes       map[int]*shape
	wellKnown    func(requirement.Key) bool
	hasMinValues bool
	// Of a pool that is split because addresses are short: what the part is bound to, its subnets if it is bound to one
	// zone, the other parts, which share its limits, and, for reasons, the pool as a whole.
	only     requirement.Requirements
	room     room
	siblings []*pool
	whole    *pool
	// demand and worth sum up what is still to be placed on new nodes of this pool.
	demand res.Vector
	worth  int64

	journal *journal // of the solver
	noted   noted
}

// burden is a set of daemons and the types on which just those run.
type burden struct {
	daemons []int
	req     res.Vector
	ports   []cluster.HostPort
	types   catalog.TypeSet
}

type limit struct {
	resource string
	index    int
	left     int64
	largest  int64 // what the type with most of it has
}

func (s *solver) compilePools() {
	sorted := slices.Clone(s.p.Pools)
	slices.SortFunc(sorted, func(a, b *cluster.Pool) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), cmp.Compare(b.Name, a.Name))
	})
	for _, src := range sorted {
		cat, err := s.compileKey.catalog(src.Types, s.vocab)
		if s.splitPool(src, cat, err) {
			continue
		}
		p := s.compileKey.borrow(src, cat, s.p.Options.Upkeep)
		if p == nil {
			p = &pool{src: src, cat: cat, upkeep: s.p.Options.Upkeep, shapes: map[int]*shape{}, wellKnown: s.isWellKnown}
			p.fault = s.compilePool(p)
			s.memory.worked.Pools++
			if err != nil {
				p.fault = err.Error()
			}
		}
		s.begin(p, src, len(s.pools))
		s.pools = append(s.pools, p)
		s.memory.borrowed = append(s.memory.borrowed, borrowedPool{s.compileKey, p})
	}
}

// begin sets what is not the same for each solution.
func (s *solver) begin(p *pool, src *cluster.Pool, rank int) {
	p.src, p.rank, p.broken, p.wellKnown = src, rank, src.NotReady, s.isWellKnown
	if p.broken == "" {
		p.broken = p.fault
	}
	p.limited, p.slots, p.worth = nil, nil, 0
	p.journal, p.noted = s.journal, 0
	p.setLimits(s.schema)
	s.deferLimits(p)
	p.demand = make(res.Vector, s.schema.Len())
	s.setBase(p)
}

// compilePool finds what nodes of the pool carry whatever the problem; it tells what is wrong with the pool.
func (s *solver) compilePool(p *pool) string {
	reqs, err := s.vocab.Parse(p.src.Requirements)
	if err != nil {
		reqs = requirement.Requirements{}
	}
	reqs = reqs.And(s.vocab.Labels(p.src.Labels)).And(s.vocab.Only(requirement.NodePool, p.src.Name)).And(p.only)
	p.reqs = reqs
	for _, set := range reqs.All {
		p.hasMinValues = p.hasMinValues || set.MinValues() > 0
	}
	s.burdenTypes(p)
	if key, empty := reqs.FirstEmpty(); empty && err == nil {
		return fmt.Sprintf("its requirements on %s exclude each other", s.vocab.Name(key))
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// defines reports whether nodes of the pool carry the label, or can be given it, whatever the type.
func (p *pool) defines(k requirement.Key) bool {
	set, ok := p.reqs.Get(k)
	return ok && (!set.AllowsAbsent() || !p.wellKnown(k))
}

// burdenTypes finds for each type which daemons will run on it. Start-up taints do not count, because daemons are
// scheduled once they are gone.
func (s *solver) burdenTypes(p *pool) {
	n := p.cat.Len()
	runs := make([]catalog.TypeSet, len(s.daemons))
	for i, d := range s.daemons {
		if judgeTaints(p.src.Taints, d.src.Class.Tolerations) == barred {
			continue
		}
		set := catalog.NewTypeSet(n)
		for _, alt := range d.alts {
			if !p.reqs.Compatible(alt, s.isWellKnown) {
				continue
			}
			both := p.reqs.And(alt)
			some := p.cat.All().Clone()
			p.cat.KeepMatching(some, both, p.defines)
			keep := catalog.NewTypeSet(n)
			for _, cell := range p.cat.CellsMatching(both) {
				keep.Or(p.cat.Cells[cell].Exists)
			}
			some.And(keep)
			set.Or(some)
		}
		runs[i] = set
	}
	p.burdenOf = make([]int, n)
	p.net = make([]res.Vector, n)
	p.perNet = make([][]float64, n)
	width := s.schema.Len()
	per := make([]float64, n*width)
	found := map[string]int{}
	for t := range n {
		key := make([]byte, len(runs))
		for i, set := range runs {
			if set != nil && set.Has(t) {
				key[i] = 1
			}
		}
		at, ok := found[string(key)]
		if !ok {
			at = len(p.burdens)
			found[string(key)] = at
			p.burdens = append(p.burdens, s.newBurden(key, n))
		}
		b := &p.burdens[at]
		b.types.Add(t)
		p.burdenOf[t] = at
		p.net[t] = p.cat.Allocatable[t]
		if !b.req.IsZero() {
			p.net[t] = p.net[t].Clone()
			p.net[t].Sub(b.req, 1)
		}
		p.perNet[t] = per[t*width : (t+1)*width : (t+1)*width]
		for r, x := range p.net[t] {
			if x > 0 {
				p.perNet[t][r] = 1 / float64(x)
			}
		}
	}
}

func (s *solver) newBurden(member []byte, types int) burden {
	b := burden{req: make(res.Vector, s.schema.Len()), types: catalog.NewTypeSet(types)}
	for i, on := range member {
		if on == 1 {
			b.daemons = append(b.daemons, i)
			b.req.Add(s.daemons[i].req, 1)
			b.ports = append(b.ports, s.daemons[i].src.Class.HostPorts...)
		}
	}
	return b
}

func (s *solver) isWellKnown(k requirement.Key) bool { return s.wellKnown[k] }

func (p *pool) setLimits(schema *res.Schema) {
	p.nodesLeft = -1
	for name, most := range p.src.Limits {
		left := most - p.src.Used[name]
		if name == res.Nodes {
			p.nodesLeft = max(0, left)
			continue
		}
		if i, ok := schema.Index(name); ok {
			l := limit{name, i, left, 0}
			for t := range p.cat.All().Each {
				l.largest = max(l.largest, p.cat.Capacity[t][i])
			}
			p.limited = append(p.limited, l)
		}
	}
	slices.SortFunc(p.limited, func(a, b limit) int { return cmp.Compare(a.resource, b.resource) })
	p.refreshAffordable()
}

func (p *pool) refreshAffordable() {
	p.journal.pool(p)
	p.affordable = p.cat.All().Clone()
	if p.nodesLeft == 0 {
		clear(p.affordable)
	}
	if p.room != nil {
		p.dropThirsty()
	}
	for _, l := range p.limited {
		if l.left >= l.largest {
			continue
		}
		for t := range p.cat.All().Each {
			if p.cat.Capacity[t][l.index] > l.left {
				p.affordable.Remove(t)
			}
		}
	}
}

func (p *pool) hasLimits() bool { return p.nodesLeft >= 0 || len(p.limited) > 0 || p.room != nil }

// charge counts a new node against the limits with the least of each resource that it may turn out to have.
func (p *pool) charge(m *newNode) {
	if !p.hasLimits() {
		return
	}
	p.journal.pool(p)
	if p.nodesLeft >= 0 {
		p.nodesLeft--
	}
	m.charged = make([]int64, len(p.limited))
	for i := range p.limited {
		l := &p.limited[i]
		m.charged[i] = p.least(m.types, l.index)
		l.left -= m.charged[i]
	}
	p.chargeAddresses(m)
	p.refreshAffordable()
	p.share()
}

// refund takes back what charge counted.
func (p *pool) refund(m *newNode) {
	if !p.hasLimits() {
		return
	}
	p.journal.pool(p)
	if p.nodesLeft >= 0 {
		p.nodesLeft++
	}
	for i, x := range m.charged {
		p.limited[i].left += x
	}
	p.refundAddresses(m)
	p.refreshAffordable()
	p.share()
}

// least is the least of a resource that any of the types has.
func (p *pool) least(types catalog.TypeSet, r int) int64 {
	least := int64(-1)
	for t := range types.Each {
		if c := p.cat.Capacity[t][r]; least < 0 || c < least {
			least = c
		}
	}
	return max(0, least)
}
