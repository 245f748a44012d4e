package pack

import (
	"reflect"
	"slices"
	"time"

	"github.com/kerf-sh/kerf/internal/cluster"
	"github.com/kerf-sh/kerf/internal/plan"
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
	if !slices.EqualFunc(x.problem.Pools, p.Pools, samePool) || !reflect.DeepEqual(rest(&x.problem), rest(p)) {
		return nil
	}
	out := *x.plan
	out.Generation = p.Generation
	return &out
}

// rest is what is left to compare of a problem.
func rest(p *Problem) Problem {
	out := *p
	out.Generation, out.Now, out.Nodes, out.Pending, out.Pools = 0, time.Time{}, nil, nil, nil
	return out
}

func samePool(a, b *cluster.Pool) bool {
	if a == b {
		return true
	}
	x, y := *a, *b
	x.Types, y.Types = nil, nil
	return same(a.Types, b.Types) && reflect.DeepEqual(x, y)
}
