package pack

import (
	"cmp"
	"slices"

	"github.com/kerf-sh/kerf/internal/catalog"
	"github.com/kerf-sh/kerf/internal/requirement"
)

// mergeWidth is how many of a pool's least used machines are compared with each other.
const mergeWidth = 48

// merge joins machines in pairs where one machine for both costs no more than the two did: filling machines one after
// the other leaves remainders, and equal prices go to fewer machines.
func (s *solver) merge() {
	for _, p := range s.pools {
		known := map[pair]tried{}
		for s.mergeOnce(s.leastUsed(p), known) {
			if p.hasLimits() {
				clear(known) // what is left of the limits is another amount now
			}
		}
	}
	s.bought = slices.DeleteFunc(s.bought, func(m *machine) bool { return m.gone })
}

// leastUsed lists the pool's machines with the least worth of pods per price, worst first.
func (s *solver) leastUsed(p *pool) []*machine {
	var out []*machine
	for _, m := range s.bought {
		if m.pool == p && !m.gone {
			out = append(out, m)
		}
	}
	slices.SortStableFunc(out, func(a, b *machine) int { return cmp.Compare(a.usage(), b.usage()) })
	return out[:min(len(out), mergeWidth)]
}

func (m *machine) usage() float64 { return float64(m.worth) / float64(max(1, m.price)) }

// pair is two machines, and tried what came of merging them when they had been merged so often before.
type pair struct{ a, b *machine }

type tried struct {
	merger merger
	ok     bool
	merges int
}

// mergeOnce makes the best merger of two of the machines: the one that saves most, then the first. Pairs that are known
// and did not change are not tried again.
func (s *solver) mergeOnce(machines []*machine, known map[pair]tried) bool {
	var best merger
	for i, a := range machines {
		for _, b := range machines[i+1:] {
			t, seen := known[pair{a, b}]
			if merges := a.merges + b.merges; !seen || t.merges != merges {
				x, ok := s.tryMerge(a, b)
				t = tried{x, ok, merges}
				known[pair{a, b}] = t
			}
			if t.ok && (best.a == nil || t.merger.saves > best.saves) {
				best = t.merger
			}
		}
	}
	if best.a == nil {
		return false
	}
	best.carryOut(s)
	return true
}

// merger is a machine that takes the place of two.
type merger struct {
	a, b  *machine
	shape *shape
	host  hostState
	saves catalog.MicroUSD
}

func (s *solver) tryMerge(a, b *machine) (merger, bool) {
	if portsConflict(a.ports, b.ports) {
		return merger{}, false
	}
	sh := s.and(a.shape, s.reqID(b.shape.reqs))
	if sh == nil {
		return merger{}, false
	}
	p := a.pool
	used := a.used.Clone()
	used.Add(b.used, 1)
	ports := slices.Concat(a.ports, b.ports)
	at := slices.IndexFunc(sh.order, func(t int) bool {
		return used.Fits(p.net[t]) && !(len(ports) > 0 && portsConflict(ports, p.burdens[p.burdenOf[t]].ports))
	})
	if at < 0 || sh.price[sh.order[at]] > a.price+b.price {
		return merger{}, false
	}
	host, ok := s.mergedHost(a, b)
	if !ok || !s.countsTheSame(a, sh) || !s.countsTheSame(b, sh) {
		return merger{}, false
	}
	if p.hasLimits() || p.hasMinValues {
		if !s.mergerAllowed(a, b, &machine{pool: p, shape: sh, used: used, ports: ports}) {
			return merger{}, false
		}
	}
	return merger{a, b, sh, host, a.price + b.price - sh.price[sh.order[at]]}, true
}

// mergedHost adds b's pods to a's host, unless the constraints by host forbid it.
func (s *solver) mergedHost(a, b *machine) (hostState, bool) {
	host := a.host.clone()
	for _, q := range b.parts {
		if s.hostCap(q.item.class, &host, q.n) < q.n {
			return host, false
		}
		s.hostAdd(q.item.class, &host, q.n)
	}
	return host, true
}

// countsTheSame reports whether spreads count the pods of m in the merged shape just as they did before.
func (s *solver) countsTheSame(m *machine, sh *shape) bool {
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

func (s *solver) settled(sh *shape, k requirement.Key) string {
	set, ok := sh.reqs.Get(k)
	if !ok {
		return ""
	}
	v, _ := set.Single()
	return v
}

// mergerAllowed checks limits and minValues with both machines taken back.
func (s *solver) mergerAllowed(a, b, m *machine) bool {
	p := m.pool
	p.refund(a)
	p.refund(b)
	defer func() { p.charge(a); p.charge(b) }()
	types := m.fits()
	if !types.Any() || m.shape.price[m.shape.cheapest(types)] > a.price+b.price {
		return false
	}
	if s.p.Options.MinValuesBestEffort {
		return true
	}
	_, _, _, short := s.minValuesShort(m.shape, types)
	return !short
}

func (x merger) carryOut(s *solver) {
	a, b := x.a, x.b
	a.pool.refund(a)
	a.pool.refund(b)
	a.shape, a.host = x.shape, x.host
	a.merges++
	a.parts = append(slices.Clone(a.parts), b.parts...)
	a.used.Add(b.used, 1)
	a.ports = slices.Concat(a.ports, b.ports)
	a.worth, a.runnerUp = a.worth+b.worth, ""
	a.settleAll()
	a.pool.charge(a)
	if b.reserved != nil {
		b.reserved.left++
	}
	b.gone = true
}
