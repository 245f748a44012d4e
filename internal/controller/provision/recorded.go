package provision

import (
	"slices"

	"github.com/kerf-sh/kerf/internal/controller/apply"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/record"
	"github.com/kerf-sh/kerf/internal/version"
)

// recorded is the decision as it is kept: what was solved, which NodeClaims came of it, and who waits all the same. A new node is found again in
// the solved plan by its first pod, which is on no other.
func recorded(id string, problem *pack.Problem, solved, carried *plan.Plan, dropped []string, out apply.Outcome) *record.Decision {
	d := &record.Decision{ID: id, Kerf: version.Version, Problem: problem, Plan: solved, Dropped: dropped, Left: leftOutOf(carried)}
	at := map[cluster.PodRef]int{}
	for i := range solved.NewNodes {
		for _, ref := range solved.NewNodes[i].Pods {
			at[ref] = i
		}
	}
	for _, c := range out.Created {
		if c.Planned == nil || len(c.Planned.Pods) == 0 {
			continue
		}
		if i, ok := at[c.Planned.Pods[0]]; ok {
			d.Claims = append(d.Claims, record.Claim{NewNode: i, Name: c.Claim})
		}
	}
	slices.SortFunc(d.Claims, func(a, b record.Claim) int { return a.NewNode - b.NewNode })
	return d
}
