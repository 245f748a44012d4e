package pack

import (
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/plan"
)

// solved is the last problem of an engine and its plan.
type solved struct {
	problem Problem
	plan    *plan.Plan
}

// again is the plan, if p differs from the problem in nothing but its generation, and in the time only so far that it
// makes no difference: pods that nothing can be done for are looked at again and again. Otherwise it is nil.
//
// Cost: one comparison for each pod and node, and of what pools and daemons hold.
func (x *solved) again(p *Problem) *plan.Plan {
	if x == nil || !slices.Equal(x.problem.Nodes, p.Nodes) || !slices.EqualFunc(x.problem.Pending, p.Pending, func(a, b *cluster.Pod) bool {
		return a == b && agedAt(x.problem.Now, a) == agedAt(p.Now, b)
	}) {
		return nil
	}
	if !sameRest(&x.problem, p) {
		return nil
	}
	out := *x.plan
	out.Generation = p.Generation
	return &out
}

// sameRest reports whether the problems differ in nothing but their generation, their time, their nodes and their pending
// pods.
func sameRest(a, b *Problem) bool {
	return slices.EqualFunc(a.Pools, b.Pools, (*cluster.Pool).Same) && slices.EqualFunc(a.Daemons, b.Daemons, sameDaemon) && a.Options.Same(&b.Options)
}
