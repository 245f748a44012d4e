package pack

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/kerf-sh/kerf/internal/cluster"
	"github.com/kerf-sh/kerf/internal/plan"
)

// solved is the last problem of an engine and its plan.
type solved struct {
	problem Problem
	plan    *plan.Plan
	rest    string // of the problem, once it was asked for
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
	if !slices.EqualFunc(x.problem.Pools, p.Pools, func(a, b *cluster.Pool) bool { return same(a.Types, b.Types) }) {
		return nil
	}
	if x.rest == "" {
		x.rest = rest(&x.problem)
	}
	if x.rest == "" || x.rest != rest(p) {
		return nil
	}
	out := *x.plan
	out.Generation = p.Generation
	return &out
}

// rest is what is left to compare of a problem, written out, so that no field is forgotten; empty if it can't be written.
func rest(p *Problem) string {
	out := *p
	out.Generation, out.Now, out.Nodes, out.Pending, out.Pools = 0, time.Time{}, nil, nil, nil
	for _, pool := range p.Pools {
		out.Pools = append(out.Pools, withoutTypes(pool))
	}
	b, err := json.Marshal(&out)
	if err != nil {
		return ""
	}
	return string(b)
}

func withoutTypes(p *cluster.Pool) *cluster.Pool {
	out := *p
	out.Types = nil
	return &out
}

// samePool reports whether the pools differ in nothing.
func samePool(a, b *cluster.Pool) bool {
	if a == b {
		return true
	}
	if !same(a.Types, b.Types) {
		return false
	}
	x, err := json.Marshal(withoutTypes(a))
	y, err2 := json.Marshal(withoutTypes(b))
	return err == nil && err2 == nil && string(x) == string(y)
}
