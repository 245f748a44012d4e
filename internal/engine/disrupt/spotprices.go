package disrupt

import "slices"

// bySpotLately says how the caller has priced a cluster whose spot prices have moved: what runs at the least, and what could
// be launched at the most that it has cost (catalog.Offering.Lately).
const bySpotLately = "spot prices are compared at their worst of the last hours"

// lately is what a comparison of prices has to be read with: for spot nodes where some spot price has moved.
//
// Cost: one look at each offering, once.
func (s *search) lately(nodes []*nodeState) string {
	if !slices.ContainsFunc(nodes, (*nodeState).spot) {
		return ""
	}
	if s.moved == nil {
		s.moved = new(s.pricesMoved())
	}
	if *s.moved {
		return bySpotLately
	}
	return ""
}

func (s *search) pricesMoved() bool {
	for _, p := range s.p.Cluster.Pools {
		for _, t := range p.Types {
			for i := range t.Offerings {
				if t.Offerings[i].Lately != nil {
					return true
				}
			}
		}
	}
	return false
}
