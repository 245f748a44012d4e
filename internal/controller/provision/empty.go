package provision

import (
	"fmt"

	"github.com/kerf-sh/kerf/internal/pack"
)

// announceEmpty tells on pools that are ready and yet have nothing to sell.
func (c *Controller) announceEmpty(problem *pack.Problem) {
	for _, p := range problem.Pools {
		if p.NotReady == "" && len(p.Types) == 0 {
			c.o.Applier.PoolEvent(p.Name, fmt.Sprintf("the node class of NodePool %s offers no instance type", p.Name))
		}
	}
}
