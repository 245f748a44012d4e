package pack

import (
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// Rules say which answers to a question will do.
type Rules struct {
	// Launch allows new nodes.
	Launch bool
	// Old is what the nodes that go cost, per hour. New new nodes must cost less by at least Saving, whatever the launch
	// makes of them. Of what they save beyond that at best, Certain percent must be certain too.
	Old     catalog.MicroUSD
	Saving  catalog.MicroUSD
	Certain int
	// SpotToSpot lets a new spot node carry pods that all come from spot nodes; in place of a single spot node only with at least
	// MinTypes cheaper types, of which just that many are listed.
	SpotToSpot bool
	MinTypes   int
	// Anyhow takes whatever new nodes are cheapest, at any price: the nodes have to go. None of the rules about money or spot
	// counts then, and the launch keeps all its choice.
	Anyhow bool
	// Work, if any, is spent on packing new nodes better, in comparisons of a pod with a new node.
	Work int64
	// Keepable are the prices of the instance types that go. A single new node of such a type must be cheaper than the
	// one there is: otherwise that could be kept.
	Keepable map[string]catalog.MicroUSD
}

// Refusal is why an answer will not do; the set is closed.
type Refusal int

// The refusals.
const (
	Fine         Refusal = iota
	NoPlace              // Class has no place: not on nodes and, if that was allowed, on no new node that can be launched
	NotCheaper           // Price is the least that new nodes would cost, or a floor of it
	SpotToSpot           // a new node would be spot, as those are that its pods come from
	FewTypes             // only Have types would be cheaper
	FewValues            // minValues would not be met by the cheaper types
	LimitReached         // a pool's limit does not leave room for new nodes beside the old ones
	OthersFollow         // pods were moved to be with those that would go, or spread by them
	NoAddresses          // the subnets of Zone have too few addresses left for new nodes beside the old ones
)

// Answer is what would happen.
type Answer struct {
	Refusal Refusal
	// Class of which a pod has no place.
	Class *cluster.Class
	// Price is that of the new nodes at best, NewNodes their number, Have the count of a refusal.
	Price    catalog.MicroUSD
	NewNodes int
	Have     int
	Zone     string
}

// Try asks what would happen if the nodes went away. The answer stays open for Keep until the next question.
func (w *WhatIf) Try(away []int, rules Rules) Answer {
	f := w.begin(away)
	for _, m := range f.displaced {
		if m.item == nil || (m.full && !m.sequential && (!rules.Launch || !m.launchable && !w.reservable(m))) {
			return w.refuse(Answer{Refusal: NoPlace, Class: m.class.src})
		}
	}
	w.placeOnNodes(f)
	floor, single, free := 0.0, catalog.MicroUSD(0), false
	for _, m := range f.displaced {
		reserved := m.left > 0 && rules.Launch && w.reservable(m)
		if m.left > 0 && (!rules.Launch || !m.launchable && !reserved) {
			return w.refuse(Answer{Refusal: NoPlace, Class: m.class.src})
		}
		free = free || reserved
		if !reserved && m.left > 0 {
			floor += float64(m.floor * float64(m.left))
			single = max(single, m.cheapest)
		}
	}
	if free {
		single = 0 // a reserved new node may take others along
	}
	if least := max(catalog.MicroUSD(floor), single); least > 0 && !rules.Anyhow && least > rules.Old-max(1, rules.Saving) {
		return w.refuse(Answer{Refusal: NotCheaper, Price: least})
	}
	if at := slices.IndexFunc(f.displaced, func(m *displacedClass) bool { return m.left > 0 }); at >= 0 && !w.launch(f, rules.Work) {
		return w.refuse(Answer{Refusal: NoPlace, Class: f.displaced[at].class.src})
	}
	for _, m := range f.displaced {
		if m.left > 0 {
			return w.refuse(Answer{Refusal: NoPlace, Class: m.class.src})
		}
	}
	if w.abandons(f) || w.tilts() {
		return w.refuse(Answer{Refusal: OthersFollow})
	}
	a := w.makeCertain(f, rules)
	if a.Refusal != Fine {
		return w.refuse(a)
	}
	return a
}

// reservable reports whether a new node for the class could be opened out of a reservation.
func (w *WhatIf) reservable(m *displacedClass) bool {
	return slices.ContainsFunc(w.s.pools, func(p *pool) bool { return w.s.reservable(m.item, p, 1) })
}

func (w *WhatIf) refuse(a Answer) Answer {
	w.Drop()
	return a
}

// makeCertain narrows the new nodes until their price is sure to stay below that of the nodes that go.
func (w *WhatIf) makeCertain(f *fork, rules Rules) Answer {
	s := w.s
	a := Answer{NewNodes: len(s.newNodes)}
	if len(s.newNodes) == 0 {
		return a
	}
	if short := s.settleAddresses(); len(short) > 0 {
		a.Refusal, a.Zone = NoAddresses, short[0]
		return a
	}
	for _, m := range s.newNodes {
		a.Price += m.price
	}
	if rules.Anyhow {
		for _, m := range s.newNodes {
			f.worst += s.worstOf(m)
		}
		return a
	}
	slack := rules.Old - a.Price
	if slack < max(1, rules.Saving) {
		a.Refusal = NotCheaper
		return a
	}
	give := slack - max(1, rules.Saving, slack*catalog.MicroUSD(rules.Certain)/100)
	best := a.Price
	a.Price = 0
	for _, m := range s.newNodes {
		ceiling := m.price
		if best > 0 {
			ceiling += catalog.MicroUSD(float64(give) * float64(m.price) / float64(best))
		}
		if r := w.narrow(m, ceiling, rules, len(f.away)); r.Refusal != Fine {
			r.NewNodes, r.Price = len(s.newNodes), best
			return r
		}
		f.worst += s.worstOf(m)
		a.Price += m.price
	}
	if f.worst > rules.Old-max(1, rules.Saving) {
		a.Refusal = NotCheaper
	}
	return a
}

// narrow cuts the new node's choice down to what costs at most the ceiling wherever it is launched: to the capacity type
// of its cheapest offering, to the types that stay below the ceiling in all zones, and, where the cheapest does not, to
// the zone in which it does; where none does in all offerings of that zone, to the offering.
func (w *WhatIf) narrow(m *newNode, ceiling catalog.MicroUSD, rules Rules, away int) Answer {
	s := w.s
	way := m.choice(m.best)
	spot := way.CapacityType == catalog.Spot && w.fromSpot(m)
	if spot && !rules.SpotToSpot {
		return Answer{Refusal: SpotToSpot}
	}
	flexible := spot && away == 1
	if flexible && len(s.newNodes) == 1 {
		ceiling = max(ceiling, rules.Old-max(1, rules.Saving))
	}
	if len(w.s.newNodes) == 1 {
		for t := range m.types.Each {
			if price, ok := rules.Keepable[m.pool.cat.Types[t].Name]; ok && away > 1 {
				ceiling = min(ceiling, price-1)
			}
		}
	}
	if m.price > ceiling {
		return Answer{Refusal: NotCheaper}
	}
	sh := s.and(m.shape, s.reqID(s.vocab.Only(requirement.CapacityType, way.CapacityType)))
	if sh == nil || !s.countsTheSame(m, sh) {
		return Answer{Refusal: NotCheaper}
	}
	some := m.types
	if flexible {
		// All that would be cheaper count, those too that are not worth their price to a launch; within limits that it does
		// not count against itself.
		m.pool.refund(m)
		some = m.fits()
		m.pool.charge(m)
		if s.subnets != nil {
			m.pool.dropThirstier(some, m.types)
		}
	}
	relaxed := s.p.Options.MinValuesBestEffort && m.pool.hasMinValues && s.hasTooFew(m) // the pods leave too few choices at any price
	types := s.below(sh, some, ceiling)
	cell := m.cell(m.best)
	for i, key := range catalog.CellKeys() {
		// The zone is left open if the best type stays below the ceiling in all; the rest if any type does in its zone.
		if types.Has(m.best) || i > 0 && types.Any() {
			break
		}
		label, decided := cell.Label(s.vocab.Key(key))
		if !decided {
			continue
		}
		one := s.and(sh, s.reqID(s.vocab.Only(key, label)))
		if one == nil || !s.countsTheSame(m, one) {
			return Answer{Refusal: NotCheaper}
		}
		sh, types = one, s.below(one, some, ceiling)
	}
	if !types.Any() {
		return Answer{Refusal: NotCheaper}
	}
	if flexible {
		if n := types.Count(); n < rules.MinTypes {
			return Answer{Refusal: FewTypes, Have: n}
		}
		types = s.cheapestOf(sh, types, max(1, rules.MinTypes), relaxed)
	}
	if m.pool.hasMinValues && !relaxed {
		if _, _, have, short := s.minValuesShort(sh, types); short {
			return Answer{Refusal: FewValues, Have: have}
		}
	}
	m.pool.refund(m)
	m.shape, m.types = sh, types
	m.best = sh.cheapest(types)
	m.price = sh.price[m.best]
	m.pool.charge(m)
	if m.pool.overdrawn() {
		return Answer{Refusal: LimitReached}
	}
	return Answer{}
}

// fromSpot reports whether no pod of the new node's classes comes from a node that is not spot. Nodes that go together are no
// ticket for each other: a new spot node for pods of spot nodes is one whatever else the command replaces.
func (w *WhatIf) fromSpot(m *newNode) bool {
	return !slices.ContainsFunc(m.parts, func(q part) bool { return w.displaced[w.orderOf[q.item.class]].offSpot })
}

// overdrawn reports whether more was charged than the limits allow.
func (p *pool) overdrawn() bool {
	return slices.ContainsFunc(p.limited, func(l limit) bool { return l.left < 0 })
}

// worstPrice is what a node of type t costs where it is dearest among the shape's offerings that can be had.
func (sh *shape) worstPrice(t int) catalog.MicroUSD {
	worst := catalog.MicroUSD(-1)
	for _, at := range sh.cells {
		if cell := &sh.pool.cat.Cells[at]; cell.Available.Has(t) {
			worst = max(worst, sh.pool.nodePrice(cell, t))
		}
	}
	return worst
}

// worstOf is the price of the dearest choice that the new node leaves to the launch.
func (s *solver) worstOf(m *newNode) catalog.MicroUSD {
	worst := catalog.MicroUSD(0)
	for t := range m.types.Each {
		worst = max(worst, m.shape.worstPrice(t))
	}
	return worst
}

// below holds those of the types that can be launched in the shape and cost at most the ceiling in all its offerings.
func (s *solver) below(sh *shape, types catalog.TypeSet, ceiling catalog.MicroUSD) catalog.TypeSet {
	out := types.Clone()
	out.And(sh.types)
	for t := range types.Each {
		if out.Has(t) && sh.worstPrice(t) > ceiling {
			out[t>>6] &^= 1 << (t & 63)
		}
	}
	return out
}

// cheapestOf cuts the types to the n cheapest; more where minValues needs them, which is not asked if it is relaxed.
func (s *solver) cheapestOf(sh *shape, types catalog.TypeSet, n int, relaxed bool) catalog.TypeSet {
	out := catalog.NewTypeSet(sh.pool.cat.Len())
	taken := 0
	for _, t := range sh.order {
		if !types.Has(t) {
			continue
		}
		if taken >= n {
			if _, _, _, short := s.minValuesShort(sh, out); !short || relaxed {
				break
			}
		}
		out.Add(t)
		taken++
	}
	return out
}
