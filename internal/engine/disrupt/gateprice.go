package disrupt

import (
	"slices"
	"strconv"

	"github.com/kerf-sh/kerf/internal/engine/pack"
)

// priceTheGate finds what spot nodes that save nothing by themselves would save together if new spot instances might replace them,
// where only the feature gate forbids it. It changes nothing but what is said of them: each gets its share of the sum.
//
// Where all of them would save nothing worth it, half of them are asked about, those with most to save, and so on.
//
// Cost: as a rule one question about mostTogether nodes at most.
func (s *search) priceTheGate() {
	if s.p.Options.SpotToSpot {
		return
	}
	nodes := slices.DeleteFunc(s.starts(), func(n *nodeState) bool {
		return !n.spot() || n.reason.Code != NotCheaper || n.usage() > 1-promising
	})
	nodes = nodes[:min(len(nodes), mostTogether)]
	for ; len(nodes) > 1 && !s.ended(); nodes = nodes[:len(nodes)/2] {
		a := s.ask(nodes, true)
		old, _ := total(nodes)
		saving := old - a.Price
		if a.Refusal != pack.SpotToSpot || s.notPaidBack(nodes, saving, a.NewNodes).Code != "" {
			continue
		}
		why := Reason{Code: SpotToSpotOff, Want: strconv.Itoa(len(nodes) - 1), Have: s.amount(saving)}
		for _, n := range nodes {
			n.reason, n.saves = why, saving*n.price/old
		}
		return
	}
}
