package disrupt

import (
	"fmt"
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/guard"
)

// unanswered is the refusal of a question that could not be answered.
const unanswered pack.Refusal = -1

// answer asks what would happen if the nodes went. Where that panics they are kept and say so, and are not asked about again; the
// others are decided on. Every question begins with what stood before the last one, whatever became of that.
func (s *search) answer(nodes []*nodeState, rules pack.Rules) (a pack.Answer) {
	if slices.ContainsFunc(nodes, func(n *nodeState) bool { return n.broken }) {
		return pack.Answer{Refusal: unanswered}
	}
	ids := make([]int, len(nodes))
	for i, n := range nodes {
		ids[i] = n.id
	}
	err := guard.Run("disruption.search", func() error {
		if s.p.asked != nil {
			s.p.asked(nodes)
		}
		a = s.w.Try(ids, rules)
		return nil
	})
	if err == nil {
		return a
	}
	for _, n := range nodes {
		n.broken = true
		n.blocks = append(n.blocks, Reason{Code: Other, Detail: fmt.Sprintf("evaluating it failed: %v", err)})
	}
	return pack.Answer{Refusal: unanswered}
}

// isBroken reports whether a question of the search could not be answered: what it has worked out may be half changed.
func (s *search) isBroken() bool {
	return slices.ContainsFunc(s.nodes, func(n *nodeState) bool { return n != nil && n.broken })
}
