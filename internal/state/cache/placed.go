package cache

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// A plan is worth what the scheduler makes of it. Each pod that is bound is held against the reservation that a decision
// made for it, and each pod that comes in the place of an evicted one against those of the evicted.

// owedFor is how long a reservation of an evicted pod waits for the pod that its owner makes in its place.
const owedFor = 10 * time.Minute

// owed is a place that a disruption planned for whatever comes in the place of an evicted pod.
type owed struct {
	target string // unit
	class  string // ID of the evicted pod's class
	until  time.Time
}

// bound holds a pod that was just bound against the plan. Equal pods stand for each other: where this one took the room of
// another, the other gets the room that was reserved for this one.
func (c *Cache) bound(e, old *entry) {
	if e.pod.Node == "" || old == nil || old.pod.Node != "" {
		return
	}
	at := c.targetsOf(e.pod.Node)
	if places, ok := c.owed[owner(e.obj)]; ok && owner(e.obj).UID != "" {
		i := slices.IndexFunc(places, func(o owed) bool { return slices.Contains(at, o.target) && o.class == e.pod.Class.ID })
		planned := i >= 0
		if !planned {
			i = slices.IndexFunc(places, func(o owed) bool { return o.class == e.pod.Class.ID })
		}
		if i >= 0 {
			c.setOwed(owner(e.obj), slices.Delete(places, i, i+1))
			c.changes = append(c.changes, Change{Kind: PodPlaced, Name: e.pod.Name, Disruption: true, AsPlanned: planned})
			return
		}
	}
	p := c.reservations[e.obj.UID]
	if p == nil {
		return
	}
	planned := slices.Contains(at, p.target)
	for i := 0; i < len(at) && !planned; i++ {
		if like := c.waitingLike(e, at[i]); like != "" {
			c.exchange(e.obj.UID, like)
			planned = true
		}
	}
	c.changes = append(c.changes, Change{Kind: PodPlaced, Name: e.pod.Name, AsPlanned: planned})
}

// waitingLike is the first, by UID, of the pods just like this one that wait for the room of a unit.
func (c *Cache) waitingLike(e *entry, unit string) (first types.UID) {
	for uid := range c.byTarget[unit] {
		like := c.waiting[c.reservations[uid].key]
		if like != nil && like.obj.UID == uid && like.pod.Class.ID == e.pod.Class.ID && (first == "" || uid < first) {
			first = uid
		}
	}
	return first
}

// exchange swaps the reservations of two pods.
func (c *Cache) exchange(a, b types.UID) {
	x, y := c.reservations[a], c.reservations[b]
	c.byTarget.remove(x.target, a)
	c.byTarget.remove(y.target, b)
	x.target, y.target, x.until, y.until = y.target, x.target, y.until, x.until
	c.byTarget.add(x.target, a)
	c.byTarget.add(y.target, b)
	c.touchTarget(x.target)
	c.touchTarget(y.target)
}

// targetsOf are the units under which a decision may have reserved room on a node: its own, and those of its claims.
func (c *Cache) targetsOf(node string) []string {
	out := []string{nodeUnit(node)}
	if n := c.nodes.get("", node); n != nil && n.Spec.ProviderID != "" {
		for claim := range c.claimsByID[n.Spec.ProviderID] {
			out = append(out, claimUnit(claim))
		}
	}
	return out
}

// owe keeps the reservation of a pod that is being evicted for the pod that its owner makes in its place.
func (c *Cache) owe(e *entry, p *reservation) {
	o := owner(e.obj)
	if o.UID == "" || e.pod.Class == nil {
		return
	}
	c.setOwed(o, append(c.owed[o], owed{p.target, e.pod.Class.ID, c.now().Add(owedFor)}))
}

func (c *Cache) setOwed(o Owner, places []owed) {
	if len(places) == 0 {
		delete(c.owed, o)
		return
	}
	c.owed[o] = places
}

// expireOwed forgets places for which no pod has come.
func (c *Cache) expireOwed(now time.Time) {
	for o, places := range c.owed {
		c.setOwed(o, slices.DeleteFunc(places, func(x owed) bool { return !now.Before(x.until) }))
	}
}
