package cache

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

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

// held reports whether a pod can't be moved now.
func (c *Cache) held(pod *corev1.Pod) bool {
	held, end := intake.HeldUntil(pod, c.now())
	if held {
		if !end.IsZero() && (c.blocks.end.IsZero() || end.Before(c.blocks.end)) {
			c.blocks.end = end
		}
		return true
	}
	return c.blocks.read.Hold(pod)
}
