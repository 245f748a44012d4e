package verify

import (
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// reservations checks that no more nodes are planned out of a reservation than it holds. A node counts when the
// price that is planned for it is that of reserved capacity, or when its requirements leave nothing else: of tells out of
// which reservation it is.
func (c *checker) reservations(of func(*host) string) {
	holds, takes := map[string]int{}, map[string]int{}
	for _, pool := range c.p.Pools {
		for _, t := range pool.Types {
			for _, o := range t.Offerings {
				if o.CapacityType != catalog.Reserved {
					continue
				}
				if n, known := holds[o.ReservationID]; !known || o.Reservable < n {
					holds[o.ReservationID] = o.Reservable
				}
			}
		}
	}
	for _, n := range c.p.Nodes {
		for _, t := range n.Requirements {
			if !n.Launched && !n.Deleting && t.Key == requirement.ReservationID && t.Operator == requirement.In && len(t.Values) == 1 {
				holds[t.Values[0]]--
			}
		}
	}
	for _, h := range c.hosts {
		if h.launched == nil || len(h.launched.Types) == 0 {
			continue
		}
		if id := of(h); id != "" {
			takes[id]++
			if takes[id] > holds[id] {
				c.report("reservation", h.name, "is one too many out of %s, which holds %d", id, max(0, holds[id]))
			}
		}
	}
}

// reservationOf is the reservation that the node's cheapest offering is out of; empty when that is none.
func (c *checker) reservationOf(h *host) string {
	t := c.typeOf(h.pool, h.launched.Types[0].Name)
	if t == nil {
		return ""
	}
	best := c.launch(h.kind, t).best
	if best == nil || best.CapacityType != catalog.Reserved {
		return ""
	}
	return best.ReservationID
}
