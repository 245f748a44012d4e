package provision

import (
	"slices"
	"time"

	"github.com/kerf-sh/kerf/internal/controller/apply"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// oneRetry leaves one of the new nodes of each NodePool for which EC2 is asked again for what it lacked: whether the capacity is
// back is found out with one NodeClaim. The pods of the others have no place meanwhile, and are decided on again once EC2 has answered.
func (c *Controller) oneRetry(problem *pack.Problem, p *plan.Plan, now time.Time) *plan.Plan {
	var out *plan.Plan
	var others []*plan.NewNode
	for i := len(p.NewNodes) - 1; i >= 0; i-- {
		n := &p.NewNodes[i]
		at := slices.IndexFunc(problem.Pools, func(x *cluster.Pool) bool { return x.Name == n.Pool })
		if at < 0 || !retries(n, problem.Pools[at], c.o.PriceBound) {
			continue
		}
		first := !slices.ContainsFunc(p.NewNodes[:i], func(x plan.NewNode) bool { return x.Pool == n.Pool && retries(&x, problem.Pools[at], c.o.PriceBound) })
		if first && now.Sub(c.retried[n.Pool]) >= SafetyInterval {
			continue
		}
		if out == nil {
			copied := *p
			copied.NewNodes = slices.Clone(p.NewNodes)
			out = &copied
		}
		out.Price -= n.Price
		out.NewNodes = slices.Delete(out.NewNodes, i, i+1)
		others = append(others, n)
	}
	if out == nil {
		return p
	}
	left := newLeftOut(problem)
	for _, n := range slices.Backward(others) {
		left.add(n.Pods, plan.Reason{Code: plan.AskedAgain, Pool: n.Pool})
	}
	return withUnplaced(out, left.unplaced())
}

// noteRetries notes for which NodePools EC2 is asked again. A NodeClaim that was refused asks nothing.
func (c *Controller) noteRetries(problem *pack.Problem, created []apply.Created, now time.Time) {
	for i := range created {
		n := created[i].Planned
		at := slices.IndexFunc(problem.Pools, func(x *cluster.Pool) bool { return n != nil && x.Name == n.Pool })
		if at >= 0 && retries(n, problem.Pools[at], c.o.PriceBound) {
			c.retried[n.Pool] = now
		}
	}
}

// retries reports whether a node would be launched from nothing but what EC2 lacked the last time.
func retries(n *plan.NewNode, pool *cluster.Pool, bound int64) bool {
	if len(n.Types) == 0 {
		return false
	}
	again, most := false, apply.Dearest(n.Types[0].Price, bound)
	listed := map[string]bool{}
	for _, t := range n.Types {
		listed[t.Name] = true
	}
	for _, t := range pool.Types {
		if !listed[t.Name] {
			continue
		}
		for i := range t.Offerings {
			o := &t.Offerings[i]
			if !o.Available || o.Price > most || !admits(n.Requirements, requirement.Zone, o.Zone) || !admits(n.Requirements, requirement.CapacityType, o.CapacityType) {
				continue
			}
			if !o.Retried {
				return false
			}
			again = true
		}
	}
	return again
}

func admits(terms []requirement.Term, key, value string) bool {
	return !slices.ContainsFunc(terms, func(t requirement.Term) bool {
		return t.Key == key && (t.Operator == requirement.In && !slices.Contains(t.Values, value) || t.Operator == requirement.NotIn && slices.Contains(t.Values, value))
	})
}

// retryFor are the NodePools of which pods wait for capacity that EC2 lacks.
func retryFor(problem *pack.Problem, p *plan.Plan) []string {
	var out []string
	for _, u := range p.Unplaced {
		for _, r := range u.Reasons {
			if (r.Code == plan.NoOffering || r.Code == plan.TooDear) && r.Pool != "" {
				out = append(out, r.Pool)
			}
		}
	}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(name string) bool {
		at := slices.IndexFunc(problem.Pools, func(x *cluster.Pool) bool { return x.Name == name })
		return at < 0 || !slices.ContainsFunc(problem.Pools[at].Types, short)
	})
}

func short(t *catalog.Type) bool {
	return slices.ContainsFunc(t.Offerings, func(o catalog.Offering) bool { return !o.Opens.IsZero() })
}
