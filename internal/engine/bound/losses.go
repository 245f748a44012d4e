package bound

import (
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
)

// Losses tells of each new node of the plan, in the plan's order, how much more it costs than its pods are worth by the
// certificate, per hour: where the gap between the plan's price and the bound comes from. The certificate is not checked.
// Unless it is false, no loss is below zero by more than rounding, but for instances of a reservation.
//
// Without existing nodes, reservations, values by zone and whole instances the losses add up to the gap.
func Losses(p *pack.Problem, pl *plan.Plan, c *Certificate) []catalog.MicroUSD {
	rows := make(map[string]*Row, len(c.Rows))
	for i := range c.Rows {
		rows[c.Rows[i].Class] = &c.Rows[i]
	}
	rowOf := make(map[cluster.PodRef]*Row, len(p.Pending))
	for _, pod := range p.Pending {
		if pod.Class == nil {
			continue
		}
		id := pod.Class.ID
		if id == "" {
			id = pod.Class.Hash()
		}
		rowOf[pod.PodRef] = rows[id]
	}
	out := make([]catalog.MicroUSD, len(pl.NewNodes))
	for i := range pl.NewNodes {
		nn := &pl.NewNodes[i]
		sum := int64(0)
		for _, ref := range nn.Pods {
			switch r := rowOf[ref]; {
			case r == nil:
			case r.Zones != nil:
				sum += r.Zones[zoneOf(nn)]
			default:
				sum += r.Value
			}
		}
		out[i] = nn.Price - catalog.MicroUSD(sum/1000)
	}
	return out
}
