package cache

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

type podKey = types.NamespacedName

// reservation is a pod that a decision gave a place which it has not taken yet.
type reservation struct {
	key    podKey
	target string // unit
	until  time.Time
}

// expectation is what is known of a claim besides its object.
type expectation struct {
	intake.Expected
	uid   types.UID
	until time.Time
	seen  bool // by a watch
}

// Assume takes in a NodeClaim that was just created, before any watch has told of it, and reservations its room to pods.
// The claim counts until a watch has confirmed it; when none has by until, it is forgotten. A reservation ends when the pod
// is bound or gone, when the claim is going, when the node is initialized and the pod is not bound within the grace
// period, or at until. Pods of nodes that are going away keep theirs until they are evicted.
func (c *Cache) Assume(claim *karpv1.NodeClaim, expected intake.Expected, pods []cluster.PodRef, until time.Time) {
	c.mu.Lock()
	defer c.unlock()
	if have, ok := c.expected[claim.Name]; !ok || have.uid != claim.UID {
		seen := c.claims.get("", claim.Name)
		c.expected[claim.Name] = expectation{Expected: expected, uid: claim.UID, until: until, seen: seen != nil && seen.UID == claim.UID}
	}
	if _, gone := c.claims.tombs[claim.UID]; gone {
		delete(c.expected, claim.Name) // it came and went before we got here
		return
	}
	c.setClaim(claim.DeepCopy())
	c.touch(claimUnit(claim.Name))
	c.reserve(claimUnit(claim.Name), pods, until)
}

// Nominate reservations room on an instance of the snapshot to pods: a Node, or a claim whose Node has not joined.
func (c *Cache) Nominate(node *cluster.Node, pods []cluster.PodRef, until time.Time) {
	c.mu.Lock()
	defer c.unlock()
	unit := nodeUnit(node.Name)
	if node.Claim != "" {
		unit = claimUnit(node.Claim)
	}
	c.reserve(unit, pods, until)
}

// exists reports whether a reservation of the unit's room can be kept.
func (c *Cache) exists(unit string) bool {
	if unit[0] == 'n' {
		node := c.nodes.get("", unit[2:])
		return node != nil && node.DeletionTimestamp == nil
	}
	claim := c.claims.get("", unit[2:])
	return claim != nil && claim.DeletionTimestamp == nil
}

func (c *Cache) reserve(unit string, pods []cluster.PodRef, until time.Time) {
	if !c.exists(unit) {
		return
	}
	for _, ref := range pods {
		key := podKey{Namespace: ref.Namespace, Name: ref.Name}
		e := c.entries[key]
		if e == nil || string(e.obj.UID) != ref.UID {
			continue
		}
		if old := c.reservations[e.obj.UID]; old != nil {
			c.endReservation(e.obj.UID, old)
		}
		c.reservations[e.obj.UID] = &reservation{key: key, target: unit, until: until}
		c.byTarget.add(unit, e.obj.UID)
		c.settleReservation(e)
	}
	c.touchTarget(unit)
	c.dirtyWait = true
}

// settleReservation ends the reservation of a pod that has taken a place or no longer needs one.
func (c *Cache) settleReservation(e *entry) {
	p := c.reservations[e.obj.UID]
	if p == nil {
		return
	}
	if e.pod.Terminating || e.pod.Node != "" && !c.moving(e) {
		if e.pod.Terminating && e.pod.Node != "" {
			c.owe(e, p)
		}
		c.endReservation(e.obj.UID, p)
	}
}

// moving reports whether the pod's node is going away: such a pod keeps its reservation until it is evicted.
func (c *Cache) moving(e *entry) bool {
	_, deleting := c.deleting[nodeUnit(e.pod.Node)]
	return deleting || c.leaving(e)
}

// leaving reports whether the pod stays where it is until the instances that are launched for it are ready.
func (c *Cache) leaving(e *entry) bool {
	return e.pod.Node != "" && intake.Leaving(c.nodes.get("", e.pod.Node))
}

// stays ends the reservations of pods whose node was to go and is not any more.
func (c *Cache) stays(node string) {
	for _, e := range c.podsByNode[node] {
		c.settleReservation(e)
	}
}

// lateRefusal is how long an instance must have been ready before the scheduler's word on a pod that it was reserved for to
// counts: it may have been said before the scheduler saw the instance.
const lateRefusal = time.Second

// refusedAgain ends the reservation of a pod that the scheduler has refused once more although the instance is ready: other
// pods took the room. Waiting for the rest of the grace period would only cost the pod time.
func (c *Cache) refusedAgain(e, old *entry) {
	p := c.reservations[e.obj.UID]
	if p == nil || !c.provisionable(e.obj) || !c.provisionable(old.obj) || intake.Refusal(e.obj) == intake.Refusal(old.obj) {
		return
	}
	if readyFor := c.bindGrace - p.until.Sub(c.now()); readyFor >= lateRefusal {
		c.breakReservation(e.obj.UID)
	}
}

func (c *Cache) endReservation(uid types.UID, p *reservation) {
	delete(c.reservations, uid)
	c.byTarget.remove(p.target, uid)
	c.touchTarget(p.target)
	c.dirtyWait = true
}

// breakReservation ends a reservation; when its pod still waits, it is pending again.
func (c *Cache) breakReservation(uid types.UID) {
	p := c.reservations[uid]
	if p == nil {
		return
	}
	c.endReservation(uid, p)
	if e := c.waiting[p.key]; e != nil && e.obj.UID == uid {
		c.tellPending(e)
	}
}

func (c *Cache) breakReservations(unit string) {
	for uid := range c.byTarget[unit] {
		c.breakReservation(uid)
	}
}

// hurryReservations shortens the reservations of an instance that is ready: the scheduler should bind now.
func (c *Cache) hurryReservations(unit, claim string) {
	soon := c.now().Add(c.bindGrace)
	for _, target := range []string{unit, claimUnit(claim)} {
		for uid := range c.byTarget[target] {
			p := c.reservations[uid]
			if e := c.entries[p.key]; e != nil && c.leaving(e) {
				continue // it is not evicted yet
			}
			if p.until.After(soon) {
				p.until = soon
			}
		}
	}
}

func (c *Cache) touchReservation(uid types.UID) {
	if p := c.reservations[uid]; p != nil {
		c.touchTarget(p.target)
	}
}

// touchTarget marks the unit that shows a target's pods: the claim's own, or that of its Node.
func (c *Cache) touchTarget(unit string) {
	c.touch(unit)
	if unit[0] != 'c' {
		return
	}
	if claim := c.claims.get("", unit[2:]); claim != nil && claim.Status.ProviderID != "" {
		c.touchID(claim.Status.ProviderID)
	}
}

// confirm notes that a watch has told of a claim.
func (c *Cache) confirm(name string, uid types.UID) {
	if x, ok := c.expected[name]; ok && x.uid == uid {
		x.seen = true
		c.expected[name] = x
	}
}

// expire ends what was assumed for too long.
func (c *Cache) expire() {
	now := c.now()
	if end := c.holds.end; !end.IsZero() && !now.Before(end) {
		c.dirtyWait = true
	}
	c.expireOwed(now)
	for uid, p := range c.reservations {
		if !now.Before(p.until) {
			c.breakReservation(uid)
		}
	}
	for name, x := range c.expected {
		if x.seen || now.Before(x.until) {
			continue
		}
		delete(c.expected, name)
		if claim := c.claims.get("", name); claim != nil && claim.UID == x.uid {
			delete(c.claims.objects, podKey{Name: name})
			c.forgetClaim(claim)
		}
	}
}

// WaitingFor says since when the longest waiting of the pods that are given room on a claim has waited; ok is false when
// none is.
func (c *Cache) WaitingFor(claim string) (since time.Time, ok bool) {
	c.mu.Lock()
	defer c.unlock()
	for uid := range c.byTarget[claimUnit(claim)] {
		e := c.entries[c.reservations[uid].key]
		if e != nil && !e.seen.IsZero() && (!ok || e.seen.Before(since)) {
			since, ok = e.seen, true
		}
	}
	return since, ok
}

// ReservedFor are the pods that wait for the node of a claim, sorted by name. They must not be changed.
func (c *Cache) ReservedFor(claim string) []*corev1.Pod {
	c.mu.Lock()
	defer c.unlock()
	var out []*corev1.Pod
	for uid := range c.byTarget[claimUnit(claim)] {
		if e := c.waiting[c.reservations[uid].key]; e != nil && e.obj.UID == uid {
			out = append(out, e.obj)
		}
	}
	slices.SortFunc(out, func(a, b *corev1.Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return out
}
