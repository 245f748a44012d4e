package cache

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// evictionBlocks are what keeps pods where they are although their node is going away. Such pods get no place elsewhere: nothing
// would come for it.
type evictionBlocks struct {
	budgets store[*policyv1.PodDisruptionBudget]
	read    intake.PodBudgets // the same, as pods are looked up in them
	end     time.Time         // when the next hold ends by itself
}

// SetBudget takes in a version of a PodDisruptionBudget.
func (c *Cache) SetBudget(b *policyv1.PodDisruptionBudget) {
	c.mu.Lock()
	defer c.unlock()
	if c.blocks.budgets.set(b) && c.blocks.read.Set(b) && len(c.deleting) > 0 {
		c.dirtyWait = true
	}
}

// RemoveBudget takes in a PodDisruptionBudget's deletion.
func (c *Cache) RemoveBudget(b *policyv1.PodDisruptionBudget) {
	c.mu.Lock()
	defer c.unlock()
	if c.blocks.budgets.remove(b) && c.blocks.read.Remove(b) && len(c.deleting) > 0 {
		c.dirtyWait = true
	}
}

// beforeTheEnd is how long before their node's end pods are given a place elsewhere that an annotation or a budget holds there: as long
// as the instance for it may take to come up.
const beforeTheEnd = 5 * time.Minute

// held reports whether a pod can't be moved now.
func (c *Cache) held(pod *corev1.Pod) bool {
	held, end := intake.HeldUntil(pod, c.now())
	if !held && !c.blocks.read.Hold(pod) {
		return false
	}
	if by, ok := c.endOf(pod.Spec.NodeName); ok {
		if by = by.Add(-beforeTheEnd); !by.After(c.now()) {
			return false
		}
		if end.IsZero() || by.Before(end) {
			end = by
		}
	}
	if !end.IsZero() && (c.blocks.end.IsZero() || end.Before(c.blocks.end)) {
		c.blocks.end = end
	}
	return true
}

// endOf is when the last pod of a node will be gone whatever holds it; ok is false where nothing is said of that.
func (c *Cache) endOf(node string) (by time.Time, ok bool) {
	n := c.nodes.get("", node)
	if n == nil {
		return time.Time{}, false
	}
	claim := c.claimOf(n)
	if claim == nil {
		return time.Time{}, false
	}
	by, err := time.Parse(time.RFC3339, claim.Annotations[karpv1.NodeClaimTerminationTimestampAnnotationKey])
	return by, err == nil
}
