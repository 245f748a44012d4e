package provision

import (
	"fmt"
	"slices"

	"github.com/kerf-sh/kerf/internal/catalog"
	"github.com/kerf-sh/kerf/internal/cluster"
	"github.com/kerf-sh/kerf/internal/pack"
	"github.com/kerf-sh/kerf/internal/requirement"
)

// offer remembers whether a pool's requirements leave any instance type, for as long as neither changes.
type offer struct {
	requirements string
	first        *catalog.Type
	count        int
	problem      string
}

// announceEmpty tells on pools that are ready and yet have nothing that they could buy.
func (c *Controller) announceEmpty(problem *pack.Problem) {
	for _, p := range problem.Pools {
		if p.NotReady != "" {
			continue
		}
		if text := c.offerProblem(p); text != "" {
			c.o.Applier.PoolEvent(p.Name, text)
		}
	}
}

func (c *Controller) offerProblem(p *cluster.Pool) string {
	now := offer{requirements: fmt.Sprint(p.Requirements), count: len(p.Types)}
	if len(p.Types) > 0 {
		now.first = p.Types[0]
	}
	known := c.offers[p.Name]
	if known.requirements == now.requirements && known.first == now.first && known.count == now.count {
		return known.problem
	}
	now.problem = emptied(p)
	c.offers[p.Name] = now
	return now.problem
}

// emptied says why no type of the pool meets its requirements: the first requirement that leaves none.
func emptied(p *cluster.Pool) string {
	if len(p.Types) == 0 {
		return "its node class offers none"
	}
	vocab := requirement.NewVocabulary()
	left := make([]requirement.Requirements, 0, len(p.Types))
	for _, t := range p.Types {
		if r, err := vocab.Parse(t.Requirements); err == nil {
			left = append(left, r)
		}
	}
	for _, term := range p.Requirements {
		want, err := vocab.Parse([]requirement.Term{term})
		if err != nil {
			return err.Error()
		}
		left = slices.DeleteFunc(left, func(r requirement.Requirements) bool { return !r.Intersects(want) })
		if len(left) == 0 {
			return fmt.Sprintf("none of %d types is left by the requirement %s and those before it", len(p.Types), term)
		}
	}
	return ""
}
