package cache

import (
	"iter"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/state/intake"
	"github.com/kerf-sh/kerf/internal/state/reservation"
)

// AwaitingReplacement reports what the pods of a node that goes away still wait for: homeless, that one of them was
// reserved for no place yet; coming, that one of them was reserved for an instance which is not initialized. Pods for which there is
// no place anywhere stay homeless, so the patience of a drain that waits for them has to end by itself.
func (c *Cache) AwaitingReplacement(node string) (homeless, coming bool) {
	c.mu.Lock()
	defer c.unlock()
	// By the objects as they are now: a snapshot costs what has changed in the whole cluster, and each drain asks every second.
	now := c.now()
	for _, e := range c.podsByNode[node] {
		if e.pod.Daemon || e.pod.Mirror || e.pod.Terminating || c.held(e.obj) {
			continue
		}
		if r, ok := c.reserved.Of(types.UID(e.pod.UID)); !ok || !now.Before(r.Until) {
			homeless = true
		} else if !c.initialized(r.Unit) {
			coming = true
		}
	}
	return homeless, coming
}

// AwaitsTurn reports whether room is reserved for a pod on a node whose turn has not come.
func (c *Cache) AwaitsTurn(pod types.UID) bool {
	c.mu.Lock()
	defer c.unlock()
	r, ok := c.reserved.Of(pod)
	if !ok {
		return false
	}
	for node := range c.nodesOf(r.Unit) {
		if intake.AwaitsTurn(node) {
			return true
		}
	}
	return false
}

// initialized reports whether the instance of a unit takes pods by now.
func (c *Cache) initialized(unit reservation.Unit) bool {
	for node, claim := range c.nodesOf(unit) {
		if intake.Initialized(node, claim) {
			return true
		}
	}
	return false
}

// nodesOf are the Nodes of a unit with their NodeClaim, which may be nil, as the objects are now: what is made of them is brought up to
// date with the next snapshot only. More than one has the provider ID of a claim in error only.
func (c *Cache) nodesOf(unit reservation.Unit) iter.Seq2[*corev1.Node, *karpv1.NodeClaim] {
	return func(yield func(*corev1.Node, *karpv1.NodeClaim) bool) {
		if name, ok := unit.Node(); ok {
			if node := c.nodes.get("", name); node != nil {
				yield(node, c.claimOf(node))
			}
			return
		}
		name, _ := unit.Claim()
		claim := c.claims.get("", name)
		if claim == nil || claim.Status.ProviderID == "" {
			return
		}
		for name := range c.nodesByID[claim.Status.ProviderID] {
			if node := c.nodes.get("", name); node != nil && c.claimOf(node) == claim && !yield(node, claim) {
				return
			}
		}
	}
}
