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
// Without existing nodes and reservations the losses add up to the gap.
func Losses(p *pack.Problem, pl *plan.Plan, c *Certificate) []catalog.MicroUSD {
	value := make(map[string]int64, len(c.Rows))
	for _, r := range c.Rows {
		value[r.Class] = r.Value
	}
	worth := make(map[cluster.PodRef]int64, len(p.Pending))
	for _, pod := range p.Pending {
		if pod.Class == nil {
			continue
		}
		id := pod.Class.ID
		if id == "" {
			id = pod.Class.Hash()
		}
		worth[pod.PodRef] = value[id]
	}
	out := make([]catalog.MicroUSD, len(pl.NewNodes))
	for i := range pl.NewNodes {
		nn := &pl.NewNodes[i]
		sum := int64(0)
		for _, ref := range nn.Pods {
			sum += worth[ref]
		}
		out[i] = nn.Price - catalog.MicroUSD(sum/1000)
	}
	return out
}
