package cache

import (
	"slices"

	"github.com/kerf-sh/kerf/internal/state/reservation"
)

// A plan is worth what the scheduler makes of it. Each pod that is bound is held against the reservation that a decision
// made for it, and each pod that comes in the place of an evicted one against those of the evicted.

// bound holds a pod that was just bound against the plan. Equal pods stand for each other: where this one took the room of
// another, the other gets the room that was reserved for this one.
func (c *Cache) bound(e, old *entry) {
	if e.pod.Node == "" || old == nil || old.pod.Node != "" {
		return
	}
	c.tellDevices(e)
	at := c.unitsOf(e.pod.Node)
	if where, ok := c.reserved.Succeed(owner(e.obj).UID, e.pod.Class.ID, at); ok {
		planned := slices.Contains(at, where) || c.exchangeWithLater(e, at, where)
		c.changes = append(c.changes, Change{Kind: PodPlaced, Name: e.pod.Name, Class: e.pod.Class.ID, Disruption: true, AsPlanned: planned})
		return
	}
	r, ok := c.reserved.Of(e.obj.UID)
	if !ok {
		if c.provisionable(old.obj) {
			c.changes = append(c.changes, Change{Kind: PodUnplanned, Name: e.pod.Name, Class: e.pod.Class.ID})
		}
		return
	}
	planned := slices.Contains(at, r.Unit)
	for i := 0; i < len(at) && !planned; i++ {
		if like := c.waitingLike(e, at[i]); like.UID != "" {
			c.reserved.Exchange(e.obj.UID, like.UID)
			c.followRival(like.Pod)
			c.touchUnit(r.Unit)
			c.touchUnit(at[i])
			planned = true
		}
	}
	c.changes = append(c.changes, Change{Kind: PodPlaced, Name: e.pod.Name, Class: e.pod.Class.ID, AsPlanned: planned})
}

// exchangeWithLater gives the room that was left to a successor to an equal pod whose eviction is still to come, because the
// successor has taken the room that is reserved for that one; false if there is none. Evictions come in any order, and the plan
// is as true with either.
func (c *Cache) exchangeWithLater(e *entry, at []reservation.Unit, where reservation.Unit) bool {
	var later reservation.Reservation
	for _, unit := range at {
		for _, r := range c.reserved.On(unit) {
			o := c.entries[r.Pod]
			if o == nil || o.obj.UID != r.UID || o.pod.Node == "" || o.pod.Terminating || o.pod.Class.ID != e.pod.Class.ID || owner(o.obj).UID != owner(e.obj).UID {
				continue
			}
			if later.UID == "" || r.UID < later.UID {
				later = r
			}
		}
	}
	if later.UID == "" {
		return false
	}
	c.touchUnit(later.Unit)
	c.touchUnit(where)
	later.Unit = where
	c.reserved.Reserve(later)
	return true
}

// waitingLike is the reservation of the first, by UID, of the pods just like this one that wait for the room of a unit; zero without one.
func (c *Cache) waitingLike(e *entry, unit reservation.Unit) (first reservation.Reservation) {
	for _, r := range c.reserved.On(unit) {
		like := c.waiting[r.Pod]
		if like != nil && like.obj.UID == r.UID && like.pod.Class.ID == e.pod.Class.ID && (first.UID == "" || r.UID < first.UID) {
			first = r
		}
	}
	return first
}

// unitsOf are the units under which a decision may have reserved room on a node: its own, and those of its claims.
func (c *Cache) unitsOf(node string) []reservation.Unit {
	out := []reservation.Unit{reservation.OfNode(node)}
	if n := c.nodes.get("", node); n != nil && n.Spec.ProviderID != "" {
		for claim := range c.claimsByID[n.Spec.ProviderID] {
			out = append(out, reservation.OfClaim(claim))
		}
	}
	return out
}
