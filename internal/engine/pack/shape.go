package pack

import (
	"cmp"
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// shape is what a new node of a pool may be under certain requirements. Shapes are made once and shared.
type shape struct {
	pool *pool
	reqs requirement.Requirements
	// cells are the ways to launch that are allowed, types the types that match and can be launched in one of them.
	cells []int
	types catalog.TypeSet
	// out holds the types that match and would be sold in one of the cells, but are not to be had in any of them now.
	out catalog.TypeSet
	// price of each type in the cheapest cell; order holds the types by price, then name.
	price []catalog.MicroUSD
	order []int
	next  map[int]*shape
	id    int // in the order of making, within the pool
	// domains in which new nodes of the shape can be launched, by key that was asked for, sorted.
	domains map[requirement.Key][]string
	req     int // the number of reqs
	// reach holds, for cpu and memory, the most that any type has among those up to a place in order; made when needed.
	reach [2][]int64
	// ladders are those of cpu and memory, made when needed.
	ladders [2]ladder
}

func (s *solver) shapeOf(p *pool, reqs requirement.Requirements) *shape {
	id := s.reqID(reqs)
	if sh, ok := p.shapes[id]; ok {
		return sh
	}
	sh := &shape{pool: p, reqs: reqs, next: map[int]*shape{}, id: len(p.shapes), req: id}
	p.shapes[id] = sh
	sh.types = p.cat.All().Clone()
	p.cat.KeepMatching(sh.types, reqs, p.defines)
	sh.cells = p.cat.CellsMatching(reqs)
	buyable := catalog.NewTypeSet(p.cat.Len())
	sh.price = make([]catalog.MicroUSD, p.cat.Len())
	for t := range sh.price {
		sh.price[t] = catalog.NoPrice
	}
	for _, at := range sh.cells {
		cell := &p.cat.Cells[at]
		buyable.Or(cell.Available)
		for t := range cell.Price {
			sh.price[t] = min(sh.price[t], p.nodePrice(cell, t))
		}
	}
	sh.out = sh.types.Clone()
	for t := range sh.types.Each {
		if buyable.Has(t) || !slices.ContainsFunc(sh.cells, func(at int) bool { return p.cat.Cells[at].Exists.Has(t) }) {
			sh.out.Remove(t)
		}
	}
	sh.types.And(buyable)
	for t := range sh.types.Each {
		sh.order = append(sh.order, t)
	}
	slices.SortStableFunc(sh.order, func(a, b int) int { return cmp.Compare(sh.price[a], sh.price[b]) })
	return sh
}

// and is the shape with further requirements; nil if the two exclude each other or no type is left.
func (s *solver) and(sh *shape, req int) *shape {
	if req == 0 {
		return sh
	}
	if next, ok := sh.next[req]; ok {
		return next
	}
	var next *shape
	extra := s.reqs.all[req]
	if sh.reqs.Compatible(extra, s.isWellKnown) {
		both := s.shapeOf(sh.pool, sh.reqs.And(extra))
		if both.types.Any() {
			next = both
		}
	}
	sh.next[req] = next
	return next
}

// join is the shape that is left when the item comes along, and the alternative that was taken. Of several alternatives
// it is the one with the best price for type t, or for the cheapest type when t is negative.
func (s *solver) join(sh *shape, it *podGroup, t int) *shape {
	if len(it.alts) == 1 {
		next := s.and(sh, it.alts[0])
		if next == nil || (t >= 0 && !next.types.Has(t)) {
			return nil
		}
		return next
	}
	var best *shape
	var bestPrice catalog.MicroUSD
	for _, alt := range it.alts {
		next := s.and(sh, alt)
		if next == nil || (t >= 0 && !next.types.Has(t)) {
			continue
		}
		price := next.price[next.order[0]]
		if t >= 0 {
			price = next.price[t]
		}
		if best == nil || price < bestPrice {
			best, bestPrice = next, price
		}
	}
	return best
}

// nodePrice is what a node of type t costs in the cell, its upkeep included.
func (p *pool) nodePrice(cell *catalog.Cell, t int) catalog.MicroUSD {
	if cell.Price[t] == catalog.NoPrice {
		return catalog.NoPrice
	}
	return cell.Price[t] + p.upkeep
}

// cheapest is the first type of sh by price, then name, that is in types; -1 if there is none.
func (sh *shape) cheapest(types catalog.TypeSet) int {
	for _, t := range sh.order {
		if types.Has(t) {
			return t
		}
	}
	return -1
}

func (s *solver) settled(sh *shape, k requirement.Key) string {
	set, ok := sh.reqs.Get(k)
	if !ok {
		return ""
	}
	v, _ := set.Single()
	return v
}
