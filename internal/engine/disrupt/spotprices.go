package disrupt

import (
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
)

// bySpotLately says how the caller has priced a cluster whose spot prices have moved: what runs at the least, and what could
// be launched at the most that it has cost (catalog.Offering.Lately).
const bySpotLately = "spot prices are compared at their worst of the last hours"

// lately is what a comparison of prices has to be read with: for spot nodes where some spot price has moved.
func (s *search) lately(nodes []*nodeState) string {
	if slices.ContainsFunc(nodes, (*nodeState).spot) && s.spotMoved() {
		return bySpotLately
	}
	return ""
}

// spotPricesMoved reports whether some spot price has moved lately. Cost: one look at each offering.
func spotPricesMoved(p *pack.Problem) bool {
	return slices.ContainsFunc(p.Pools, func(p *cluster.Pool) bool {
		return slices.ContainsFunc(p.Types, func(t *catalog.Type) bool {
			return slices.ContainsFunc(t.Offerings, func(o catalog.Offering) bool { return o.Lately != nil })
		})
	})
}
