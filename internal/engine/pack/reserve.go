package pack

import (
	"cmp"
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// Reserved capacity is paid for whether it is used or not, so that a new node out of a reservation costs next to nothing.
// But a reservation holds a number of new nodes and no more. They are therefore kept apart from what can be launched without
// end: new nodes are opened out of a reservation one by one, bound to it by their requirements, while it lasts; all other
// new nodes exclude reserved capacity. So no plan promises more than there is.

// reservation is what is left of one reservation. Pools share it.
type reservation struct {
	id   string
	left int

	noted noted
}

// slot is a reservation as a pool can use it.
type slot struct {
	reservation *reservation
	shape       *shape
}

// compileReservations finds what is left of each reservation: the least that anyone says of it, less what is on its way
// already.
func (s *solver) compileReservations() {
	s.reservations = map[string]*reservation{}
	for _, p := range s.p.Pools {
		for _, o := range s.compileKey.reserved(p.Types, s.vocab) {
			if r := s.reservations[o.ReservationID]; r == nil {
				s.reservations[o.ReservationID] = &reservation{id: o.ReservationID, left: o.Reservable}
			} else {
				r.left = min(r.left, o.Reservable)
			}
		}
	}
	if len(s.reservations) == 0 {
		return
	}
	for _, n := range s.p.Nodes {
		if n.Launched || n.Deleting {
			continue
		}
		for _, t := range n.Requirements {
			if t.Key == requirement.ReservationID && t.Operator == requirement.In && len(t.Values) == 1 && s.reservations[t.Values[0]] != nil {
				s.reservations[t.Values[0]].left--
			}
		}
	}
}

// setBase makes the shape of all that can be launched without end, and the slots.
func (s *solver) setBase(p *pool) {
	reserved := slices.ContainsFunc(p.cat.Cells, func(c catalog.Cell) bool { return c.CapacityType == catalog.Reserved })
	if !reserved {
		p.base = s.shapeOf(p, p.reqs)
		return
	}
	p.base = s.shapeOf(p, p.reqs.And(s.vocab.Without(requirement.CapacityType, catalog.Reserved)))
	for i := range p.cat.Cells {
		cell := &p.cat.Cells[i]
		r := s.reservations[cell.ReservationID]
		if r == nil || cell.CapacityType != catalog.Reserved || slices.ContainsFunc(p.slots, func(x slot) bool { return x.reservation == r }) {
			continue
		}
		reqs := p.reqs.And(s.vocab.Only(requirement.CapacityType, catalog.Reserved)).And(s.vocab.Only(requirement.ReservationID, r.id))
		if sh := s.shapeOf(p, reqs); sh.types.Any() {
			p.slots = append(p.slots, slot{r, sh})
		}
	}
	slices.SortFunc(p.slots, func(a, b slot) int { return cmp.Compare(a.reservation.id, b.reservation.id) })
}

// reservable reports whether a new node for so many pods of the item could be opened out of a reservation.
func (s *solver) reservable(it *podGroup, p *pool, pods int) bool {
	return slices.ContainsFunc(p.slots, func(x slot) bool { return s.slotType(it, p, x, pods) >= 0 })
}

// slotType is the type of the slot that carries so many pods of the item; -1 if none does, or none is left.
func (s *solver) slotType(it *podGroup, p *pool, x slot, pods int) int {
	if x.reservation.left <= 0 || p.broken != "" {
		return -1
	}
	for _, t := range x.shape.order {
		if p.affordable.Has(t) && it.class.times(p.net[t], it.class.shared, pods) >= pods && s.join(x.shape, it, t) != nil {
			return t
		}
	}
	return -1
}

// reservedDomains adds the domains of a key in which reserved new nodes for the alternatives could be opened.
func (s *solver) reservedDomains(p *pool, alts []requirement.Requirements, k requirement.Key, found map[string]bool) {
	for _, x := range p.slots {
		if x.reservation.left <= 0 {
			continue
		}
		for _, alt := range alts {
			if sh := s.and(x.shape, s.reqID(alt)); sh != nil {
				s.domainsOf(sh, k, found)
			}
		}
	}
}
