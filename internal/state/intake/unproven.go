package intake

import (
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// awaited is why nothing more is launched for a pool of which an instance is under way that will show whether they become nodes.
const awaited = "its last instances never became nodes (condition NodeRegistrationHealthy); one at a time is launched until one does"

// Unproven reports whether the last instances of a pool never became nodes, and none that was launched since has, and how many are
// under way. claim is that of a name, nil where it is not known; one that is outdated shows nothing. As long as that lasts one at a time is launched: all that pods ask for would be paid for again and again,
// whatever is wrong. That EC2 launched nothing, the condition's other reasons, says nothing of it.
func Unproven(pool *karpv1.NodePool, nodes []*cluster.Node, claim func(name string) *karpv1.NodeClaim) (underWay int, unproven bool) {
	failed := pool.StatusConditions().Get(karpv1.ConditionTypeNodeRegistrationHealthy)
	if !failed.IsFalse() || failed.Reason != karpv1.ReasonRegistrationFailed {
		return 0, false
	}
	for _, n := range nodes {
		switch {
		case n.Pool != pool.Name || n.Claim == "":
		case n.Registered && n.CreatedAt.After(failed.LastTransitionTime.Time):
			return 0, false
		case !n.Registered && !n.Deleting && !Outdated(claim(n.Claim)):
			underWay++
		}
	}
	return underWay, true
}

// Outdated reports whether a claim's instance was launched from a NodePool or EC2NodeClass as it was before a change: whether it becomes a
// node says nothing of those that are launched now. Drifted tells, which knows also of images, subnets and security groups that
// are others though the hashes are the same. claim may be nil.
func Outdated(claim *karpv1.NodeClaim) bool {
	return claim != nil && claim.StatusConditions().IsTrue(karpv1.ConditionTypeDrifted)
}

// Restrain lets one more node be launched for a pool that is unproven, none while one is under way. Its Used must be set.
func Restrain(out *cluster.Pool, pool *karpv1.NodePool, nodes []*cluster.Node, claim func(name string) *karpv1.NodeClaim) {
	underWay, unproven := Unproven(pool, nodes, claim)
	switch {
	case !unproven || out.NotReady != "":
	case underWay > 0:
		out.NotReady = awaited
	default:
		limits := out.Limits.Clone()
		if limits == nil {
			limits = res.List{}
		}
		one := out.Used[res.Nodes] + 1
		if limit, ok := limits[res.Nodes]; ok {
			one = min(one, limit)
		}
		limits[res.Nodes] = one
		out.Limits = limits
	}
}
