package disrupt

import (
	"math"
	"time"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
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

// Spend counts the budgets of pools, by pool. Busy reports whether a claim's node is part of a command that the snapshot
// does not show yet; it may be nil.
func Spend(pools []*karpv1.NodePool, nodes []*cluster.Node, busy func(claim string) bool, now time.Time) map[string]*Spending {
	out := make(map[string]*Spending, len(pools))
	for _, p := range pools {
		out[p.Name] = &Spending{Left: map[karpv1.DisruptionReason]int{}}
	}
	for _, n := range nodes {
		s := out[n.Pool]
		if s == nil || n.Claim == "" || !n.Initialized {
			continue
		}
		s.Nodes++
		if n.Deleting || n.Leaving || !n.Ready || busy != nil && busy(n.Claim) {
			s.Used++
		}
	}
	for _, p := range pools {
		s := out[p.Name]
		for _, reason := range reasons {
			most, err := allowed(p, reason, s.Nodes, now)
			if err != nil {
				s.Err = err
			}
			if most < math.MaxInt {
				s.Left[reason] = max(0, most-s.Used)
			}
		}
	}
	return out
}
