package disrupt

import (
	"fmt"
	"math"
	"time"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/budget"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// reasons are those that budgets know.
var reasons = []karpv1.DisruptionReason{karpv1.DisruptionReasonEmpty, karpv1.DisruptionReasonUnderutilized, karpv1.DisruptionReasonDrifted}

// Spending is how far the budgets of a pool are used.
type Spending struct {
	// Nodes of the pool that are initialized, and how many of them are going or not ready.
	Nodes, Used int
	// Left is how many more may go for each reason; a reason that has no bound is not there.
	Left map[karpv1.DisruptionReason]int
	// Err says what is wrong with a budget. Then nothing is left for its reasons.
	Err error
}

// nothingLeft says why nodes stay of which that is said, where the budgets leave nothing.
func (s *Spending) nothingLeft(stay string) string {
	if s.Err != nil {
		return s.Err.Error()
	}
	return fmt.Sprintf("%s: the disruption budgets leave nothing, and %d of %d nodes are going or not ready", stay, s.Used, s.Nodes)
}

// Spend counts the budgets of pools, by pool. Busy reports whether a claim's node is part of a command that the snapshot
// does not show yet.
func Spend(pools []*karpv1.NodePool, nodes []*cluster.Node, busy func(claim string) bool, now time.Time) map[string]*Spending {
	out := make(map[string]*Spending, len(pools))
	for _, p := range pools {
		out[p.Name] = &Spending{Left: map[karpv1.DisruptionReason]int{}}
	}
	for _, n := range nodes {
		s := out[n.Pool]
		if s == nil || !budget.Counts(n) {
			continue
		}
		s.Nodes++
		if budget.Uses(n) || busy(n.Claim) {
			s.Used++
		}
	}
	for _, p := range pools {
		s, budgets := out[p.Name], intake.Budgets(p)
		for _, reason := range reasons {
			most, err := budget.Allowed(budgets, string(reason), s.Nodes, now)
			if err != nil {
				s.Err = fmt.Errorf("nodepool %q: %w", p.Name, err)
			}
			if most < math.MaxInt {
				s.Left[reason] = max(0, most-s.Used)
			}
		}
	}
	return out
}
