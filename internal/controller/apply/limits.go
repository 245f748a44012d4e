package apply

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// lowered is a pool of a plan with the limits of the newest NodePool where those are lower: they may have been lowered while the plan
// was made.
func lowered(offered *cluster.Pool, newest *karpv1.NodePool) *cluster.Pool {
	if newest == nil || len(newest.Spec.Limits) == 0 {
		return offered
	}
	out := *offered
	out.Limits = intake.Resources(corev1.ResourceList(newest.Spec.Limits))
	for k, limit := range offered.Limits {
		if now, ok := out.Limits[k]; !ok || limit < now {
			out.Limits[k] = limit
		}
	}
	return &out
}

// withinLimits takes the types out of nodes' lists with which the limits of their pool would be exceeded, if EC2 chose them. Plans
// count a node as the least that its types have, so that it may be planned close to a limit; what is left of the limit
// then is shared evenly among the nodes, and their types may have so much more. The cheapest type stays if its surplus is left at
// all. A node that needs several values of a label (minValues) keeps its list.
func (c *checker) withinLimits(nodes []plan.NewNode) []plan.NewNode {
	count := map[string]int{}
	for i := range nodes {
		if len(c.limitsOf(&nodes[i])) > 0 {
			count[nodes[i].Pool]++
		}
	}
	if len(count) == 0 {
		return nodes
	}
	out := slices.Clone(nodes)
	left := c.leftOver(nodes)
	for i := range out {
		n := &out[i]
		if count[n.Pool] == 0 || len(n.Types) == 0 {
			continue
		}
		share := res.List{}
		for k, x := range left[n.Pool] {
			share[k] = x / int64(count[n.Pool])
		}
		count[n.Pool]--
		n.Types = c.fitting(n, share, left[n.Pool])
	}
	return out
}

// limitsOf are the limits of a node's pool on what an instance has.
func (c *checker) limitsOf(n *plan.NewNode) res.List {
	pool := c.offered[n.Pool]
	if pool == nil || len(pool.Limits) == 0 {
		return nil
	}
	out := pool.Limits.Clone()
	delete(out, res.Nodes)
	return out
}

// leftOver is what the limits of each pool leave once all nodes are launched as the least that their types have.
func (c *checker) leftOver(nodes []plan.NewNode) map[string]res.List {
	out := map[string]res.List{}
	for i := range nodes {
		n := &nodes[i]
		limits := c.limitsOf(n)
		if len(limits) == 0 {
			continue
		}
		if out[n.Pool] == nil {
			for k := range limits {
				limits[k] -= c.used[n.Pool][k]
			}
			out[n.Pool] = limits
		}
		least := leastCapacity(n, c.offered[n.Pool])
		for k := range out[n.Pool] {
			out[n.Pool][k] -= least[k]
		}
	}
	for _, left := range out {
		for k := range left {
			left[k] = max(0, left[k])
		}
	}
	return out
}

// fitting are the types of a node that have no more than a share above the least of them, and takes what they may have more from
// what is left.
func (c *checker) fitting(n *plan.NewNode, share, left res.List) []plan.TypeChoice {
	if needsValues(n.Requirements) {
		return n.Types
	}
	pool := c.offered[n.Pool]
	least, has := leastCapacity(n, pool), capacities(n, pool)
	first := has[n.Types[0].Name]
	if within(first, least, left) {
		for k := range share {
			share[k] = max(share[k], first[k]-least[k])
		}
	}
	kept := slices.DeleteFunc(slices.Clone(n.Types), func(t plan.TypeChoice) bool { return !within(has[t.Name], least, share) })
	if len(kept) == 0 {
		kept = n.Types[:1]
	}
	for k := range left {
		surplus := int64(0)
		for _, t := range requested(kept, nil, c.bound) {
			surplus = max(surplus, has[t.Name][k]-least[k])
		}
		left[k] = max(0, left[k]-surplus)
	}
	return kept
}

// within reports whether a type has no more above the least than it may.
func within(has, least, more res.List) bool {
	for k, x := range more {
		if has[k]-least[k] > x {
			return false
		}
	}
	return true
}

func capacities(n *plan.NewNode, pool *cluster.Pool) map[string]res.List {
	out := map[string]res.List{}
	for t := range chosenTypes(n, pool) {
		out[t.Name] = t.Capacity
	}
	return out
}
