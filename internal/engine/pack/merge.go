package pack

import (
	"cmp"
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// mergeWidth is how many of a pool's least used new nodes are compared with each other.
const mergeWidth = 48

// merge joins new nodes in pairs where one new node for both costs no more than the two did: filling new nodes one after
// the other leaves remainders, and equal prices go to fewer new nodes.
func (s *solver) merge() {
	for _, p := range s.pools {
		if x := s.mergingOf(p); x != nil {
			for x.once(s) {
			}
		}
	}
	s.newNodes = slices.DeleteFunc(s.newNodes, func(m *newNode) bool { return m.gone })
}

// mergeCandidate is a new node in the order in which new nodes are merged: the least worth of pods per price first.
type mergeCandidate struct {
	usage float64
	at    int // where it is among those launched
	m     *newNode
	slot  int // in the table of merging; -1: none
}

func (a mergeCandidate) compare(b mergeCandidate) int {
	return cmp.Or(cmp.Compare(a.usage, b.usage), cmp.Compare(a.at, b.at))
}

// merging is the state of the merging of one pool's new nodes.
type merging struct {
	pool *pool
	line []mergeCandidate
	// saves is what a merger of the new nodes in two slots saves, the first of them earlier in line; never, or unknown. There are as many
	// slots as new nodes, mergeWidth at most.
	saves [][]catalog.MicroUSD
	taken [mergeWidth]bool
	used  res.Vector
	host  hostState
}

const never, unknown = catalog.MicroUSD(-1), catalog.MicroUSD(-2)

// mergingOf is the merging of a pool's new nodes; nil where there are no two of them.
func (s *solver) mergingOf(p *pool) *merging {
	var line []mergeCandidate
	for i, m := range s.newNodes {
		if m.pool == p && !m.gone {
			line = append(line, mergeCandidate{m.usage(), i, m, -1})
		}
	}
	if len(line) < 2 {
		return nil
	}
	slices.SortFunc(line, mergeCandidate.compare)
	x := &merging{pool: p, line: line, used: make(res.Vector, s.schema.Len())}
	slots := min(len(line), mergeWidth)
	x.saves = make([][]catalog.MicroUSD, slots)
	flat := make([]catalog.MicroUSD, slots*slots)
	for i := range x.saves {
		x.saves[i] = flat[i*slots : (i+1)*slots : (i+1)*slots]
	}
	return x
}

func (m *newNode) usage() float64 { return float64(m.worth) / float64(max(1, m.price)) }

// once makes the best merger of two of the first new nodes in line: the one that saves most, then the first. What came of
// pairs that did not change since is known.
func (x *merging) once(s *solver) bool {
	first := x.line[:min(len(x.line), mergeWidth)]
	x.seat(first)
	best, at, with := never, 0, 0
	for i := range first {
		row := x.saves[first[i].slot]
		for k := i + 1; k < len(first); k++ {
			saves := &row[first[k].slot]
			if *saves == unknown {
				*saves = x.try(s, first[i].m, first[k].m)
			}
			if *saves > best {
				best, at, with = *saves, i, k
			}
		}
	}
	if best == never {
		return false
	}
	a, b := x.line[at], x.line[with]
	s.absorb(a.m, b.m)
	x.taken[a.slot], x.taken[b.slot] = false, false
	x.line = slices.Delete(x.line, with, with+1)
	x.line = slices.Delete(x.line, at, at+1)
	a.usage, a.slot = a.m.usage(), -1
	to, _ := slices.BinarySearchFunc(x.line, a, mergeCandidate.compare)
	x.line = slices.Insert(x.line, to, a)
	if to < mergeWidth && len(x.line) > mergeWidth && x.line[mergeWidth].slot >= 0 {
		x.taken[x.line[mergeWidth].slot], x.line[mergeWidth].slot = false, -1
	}
	if x.pool.hasLimits() { // what is left of the limits is another amount now
		for i := range x.saves {
			x.forget(i)
		}
	}
	return true
}

// seat gives the new nodes that have none a slot.
func (x *merging) seat(first []mergeCandidate) {
	free := 0
	for i := range first {
		if first[i].slot >= 0 {
			continue
		}
		for x.taken[free] {
			free++
		}
		x.taken[free], first[i].slot = true, free
		x.forget(free)
	}
}

func (x *merging) forget(slot int) {
	for i := range x.saves {
		x.saves[slot][i], x.saves[i][slot] = unknown, unknown
	}
}

// try is what a new node for the pods of a and b saves; never if there can't be one, or it costs more.
func (x *merging) try(s *solver, a, b *newNode) catalog.MicroUSD {
	if portsConflict(a.ports, b.ports) {
		return never
	}
	sh := s.both(a.shape, b.shape)
	if sh == nil {
		return never
	}
	p := a.pool
	copy(x.used, a.used)
	x.used.Add(b.used, 1)
	ports := a.ports
	if len(b.ports) > 0 {
		ports = slices.Concat(a.ports, b.ports)
	}
	t := sh.firstFit(s.lead, x.used, ports, a.price+b.price)
	if t < 0 || !s.hostsMerge(&x.host, a, b) || !s.countsTheSame(a, sh) || !s.countsTheSame(b, sh) {
		return never
	}
	if p.hasLimits() || p.hasMinValues {
		if !s.mergerAllowed(a, b, &newNode{pool: p, shape: sh, used: x.used, ports: ports}) {
			return never
		}
	}
	return a.price + b.price - sh.price[t]
}

// both is the shape that satisfies two shapes of one pool; nil if there is none.
func (s *solver) both(a, b *shape) *shape {
	if a == b {
		return a
	}
	return s.and(a, b.req)
}

// hostsMerge adds b's pods to the pods on a's host, in host. It is false if the constraints by host forbid it.
func (s *solver) hostsMerge(host *hostState, a, b *newNode) bool {
	host.at = append(host.at[:0], a.host.at...)
	for _, q := range b.parts {
		if s.hostCap(q.item.class, host, q.n) < q.n {
			return false
		}
		s.hostAdd(q.item.class, host, q.n)
	}
	return true
}

// countsTheSame reports whether spreads count the pods of m in the merged shape just as they did before.
func (s *solver) countsTheSame(m *newNode, sh *shape) bool {
	for _, q := range m.parts {
		for _, g := range q.item.class.topo.wideIn {
			before, _ := g.looksAt(s, m.pool, m.shape, m.types)
			after, sure := g.looksAt(s, m.pool, sh, sh.types)
			if !sure || before != after || s.settled(m.shape, g.keyID) != s.settled(sh, g.keyID) {
				return false
			}
		}
	}
	return true
}

// mergerAllowed checks limits and minValues with both new nodes taken back.
func (s *solver) mergerAllowed(a, b, m *newNode) bool {
	p := m.pool
	p.refund(a)
	p.refund(b)
	defer func() { p.charge(a); p.charge(b) }()
	types := m.fits()
	if !types.Any() || m.shape.price[m.shape.cheapest(types)] > a.price+b.price {
		return false
	}
	_, _, _, short := s.minValuesShort(m.shape, types)
	return !short || s.p.Options.MinValuesBestEffort && (s.hasTooFew(a) || s.hasTooFew(b))
}

// absorb puts b's pods on a.
func (s *solver) absorb(a, b *newNode) {
	a.pool.refund(a)
	a.pool.refund(b)
	var host hostState
	s.hostsMerge(&host, a, b)
	a.shape, a.host = s.both(a.shape, b.shape), host
	a.parts = append(slices.Clone(a.parts), b.parts...)
	a.used.Add(b.used, 1)
	a.ports = slices.Concat(a.ports, b.ports)
	a.worth, a.runnerUp = a.worth+b.worth, ""
	a.settleAll()
	a.pool.charge(a)
	if b.reserved != nil {
		s.journal.reservation(b.reserved)
		b.reserved.left++
	}
	b.gone = true
}
