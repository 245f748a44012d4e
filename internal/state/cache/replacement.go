package cache

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/state/intake"
	"github.com/kerf-sh/kerf/internal/state/reservation"
)

// AwaitingReplacement reports what the pods of a node that goes away still wait for: homeless, that one of them was
// reserved for no place yet; coming, that one of them was reserved for an instance which is not initialized. Pods for which there is
// no place anywhere stay homeless, so the patience of a drain that waits for them has to end by itself.
func (c *Cache) AwaitingReplacement(node string) (homeless, coming bool) {
	c.mu.Lock()
	defer c.unlock()
	c.snapshot()
	for _, e := range c.podsByNode[node] {
		if e.pod.Daemon || e.pod.Mirror || e.pod.Terminating || c.held(e.obj) {
			continue
		}
		if r, ok := c.reserved.Of(types.UID(e.pod.UID)); !ok {
			homeless = true
		} else if n := c.nodeOf(r.Unit); n == nil || !n.Initialized {
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
	// By the objects as they are now: what is made of them is brought up to date with the next snapshot only.
	name, isClaim := r.Unit.Claim()
	if !isClaim {
		name, _ = r.Unit.Node()
		return intake.AwaitsTurn(c.nodes.get("", name))
	}
	claim := c.claims.get("", name)
	if claim == nil || claim.Status.ProviderID == "" {
		return false
	}
	for name := range c.nodesByID[claim.Status.ProviderID] {
		if intake.AwaitsTurn(c.nodes.get("", name)) {
			return true
		}
	}
	return false
}

// nodeOf is the instance that a unit is part of by now; nil when there is none.
func (c *Cache) nodeOf(unit reservation.Unit) *cluster.Node {
	name, isClaim := unit.Claim()
	if n := c.units[unit]; n != nil || !isClaim {
		return n
	}
	claim := c.claims.get("", name)
	if claim == nil || claim.Status.ProviderID == "" {
		return nil
	}
	for name := range c.nodesByID[claim.Status.ProviderID] {
		if n := c.units[reservation.OfNode(name)]; n != nil && n.Claim == claim.Name {
			return n
		}
	}
	return nil
}
