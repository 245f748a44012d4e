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
	"github.com/kerf-sh/kerf/internal/state/reservation"
)

type podKey = types.NamespacedName

// Assume takes in a NodeClaim that was just created, before any watch has told of it, and reserves its room for pods.
// The claim counts until a watch has confirmed it; when none has by until, it is forgotten. A reservation ends when the pod
// is bound or gone, when the claim is going, when the node is initialized and the pod is not bound within the grace
// period, or at until. Pods of nodes that are going away keep theirs until they are evicted.
func (c *Cache) Assume(claim *karpv1.NodeClaim, expected intake.Expected, pods []cluster.PodRef, until time.Time) {
	c.mu.Lock()
	defer c.unlock()
	seen := c.claims.get("", claim.Name)
	c.reserved.ExpectClaim(claim.Name, claim.UID, expected, until, seen != nil && seen.UID == claim.UID)
	if _, gone := c.claims.deleted[claim.UID]; gone {
		c.reserved.ForgetClaim(claim.Name) // it came and went before we got here
		return
	}
	c.setClaim(claim.DeepCopy())
	c.touch(reservation.OfClaim(claim.Name))
	c.reserveOn(reservation.OfClaim(claim.Name), pods, until)
}

// Reserve reserves room on an instance of the snapshot for pods: a Node, or a claim whose Node has not joined. Where the
// instance has become ready since the snapshot, the pods have the grace period.
func (c *Cache) Reserve(node *cluster.Node, pods []cluster.PodRef, until time.Time) {
	c.mu.Lock()
	defer c.unlock()
	unit := reservation.OfNode(node.Name)
	if node.Claim != "" {
		unit = reservation.OfClaim(node.Claim)
	}
	c.reserveOn(unit, pods, until)
	if now := c.instance(unit); now != nil && now.Initialized && now.Ready {
		for _, pod := range pods {
			if r, ok := c.reserved.Of(types.UID(pod.UID)); ok {
				c.hurry(r, now.Name)
			}
		}
	}
	if node.Claim != "" && node.Registered {
		c.tell(NominationLost, node.Claim) // it takes pods already, and would not come up otherwise
	}
}

// exists reports whether a reservation of the unit's room can be kept.
func (c *Cache) exists(unit reservation.Unit) bool {
	if name, ok := unit.Node(); ok {
		node := c.nodes.get("", name)
		return node != nil && node.DeletionTimestamp == nil
	}
	name, _ := unit.Claim()
	claim := c.claims.get("", name)
	return claim != nil && claim.DeletionTimestamp == nil
}

func (c *Cache) reserveOn(unit reservation.Unit, pods []cluster.PodRef, until time.Time) {
	if !c.exists(unit) {
		return
	}
	for _, ref := range pods {
		key := podKey{Namespace: ref.Namespace, Name: ref.Name}
		e := c.entries[key]
		if e == nil || string(e.obj.UID) != ref.UID {
			continue
		}
		if old, ok := c.reserved.Reserve(reservation.Reservation{Pod: key, UID: e.obj.UID, Unit: unit, Until: until}); ok {
			c.touchUnit(old.Unit)
		}
		c.followRival(key)
		c.touchNominee(key)
		c.settleReservation(e)
	}
	c.touchUnit(unit)
	c.dirtyWait = true
}

// settleReservation ends the reservation of a pod that has taken a place or no longer needs one.
func (c *Cache) settleReservation(e *entry) {
	r, ok := c.reserved.Of(e.obj.UID)
	if !ok {
		return
	}
	if e.pod.Terminating || e.pod.Node != "" && !c.moving(e) {
		if e.pod.Terminating && e.pod.Node != "" && e.pod.Class != nil {
			c.reserved.LeaveToSuccessor(owner(e.obj).UID, r.Unit, e.pod.Class.ID, c.now())
		}
		c.endReservation(e.obj.UID)
	}
}

// moving reports whether the pod's node is going away: such a pod keeps its reservation until it is evicted.
func (c *Cache) moving(e *entry) bool {
	_, deleting := c.deleting[reservation.OfNode(e.pod.Node)]
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
	r, ok := c.reserved.Of(e.obj.UID)
	if !ok || !c.provisionable(e.obj) || !c.provisionable(old.obj) || intake.Refusal(e.obj) == intake.Refusal(old.obj) {
		return
	}
	if readyFor := c.bindGrace - r.Until.Sub(c.now()); readyFor >= lateRefusal {
		c.missed(r)
		c.breakReservation(e.obj.UID)
	}
}

// missed tells of a pod that is left waiting although the instance that was chosen for it is ready and has room.
func (c *Cache) missed(r reservation.Reservation) {
	e := c.waiting[r.Pod]
	if e == nil || e.obj.UID != r.UID {
		return
	}
	n := c.instance(r.Unit)
	if n == nil || !n.Initialized || !n.Ready || n.Deleting || !c.hasRoom(n, e.pod) || c.reserved.Nominated(r.UID, n.Name) {
		return
	}
	if claim, _ := c.unmadeVolume(e.obj); claim != "" {
		return // the scheduler has chosen a node and waits for the volume
	}
	c.changes = append(c.changes, Change{Kind: PodMissed, Name: e.pod.Name, Class: e.pod.Class.ID, Detail: "it says: " + intake.Refusal(e.obj)})
}

// instance is the node of a unit as it was last made; nil where there is none.
func (c *Cache) instance(unit reservation.Unit) *cluster.Node {
	if n := c.units[unit]; n != nil {
		return n
	}
	name, _ := unit.Claim()
	claim := c.claims.get("", name)
	if claim == nil {
		return nil
	}
	for node := range c.nodesByID[claim.Status.ProviderID] {
		if n := c.units[reservation.OfNode(node)]; n != nil && n.Claim == name {
			return n
		}
	}
	return nil
}

// unmadeVolume is the first of a pod's claims for which the scheduler has chosen a node and waits until a volume is made there;
// empty where there is none.
func (c *Cache) unmadeVolume(pod *corev1.Pod) (name, node string) {
	for _, name := range intake.VolumeClaims(pod) {
		if node := intake.SelectedNode(c.pvcs.get(pod.Namespace, name)); node != "" {
			return name, node
		}
	}
	return "", ""
}

// hasRoom reports whether a node has what a pod asks for beside the pods that are bound to it or about to be.
func (c *Cache) hasRoom(n *cluster.Node, pod *cluster.Pod) bool {
	used := pod.Class.Requests.Clone()
	for _, p := range n.Pods {
		if p.Node != "" {
			used.Add(p.Class.Requests)
		}
	}
	for _, e := range c.coming(n.Name) {
		used.Add(e.pod.Class.Requests)
	}
	for r := range pod.Class.Requests {
		if used[r] > n.Allocatable[r] {
			return false
		}
	}
	return true
}

// endReservation ends a pod's reservation; ok is false when it has none.
func (c *Cache) endReservation(uid types.UID) (r reservation.Reservation, ok bool) {
	if r, ok = c.reserved.End(uid); ok {
		c.touchUnit(r.Unit)
		c.followRival(r.Pod)
		c.touchNominee(r.Pod)
		c.dirtyWait = true
	}
	return r, ok
}

// breakReservation ends a reservation; when its pod still waits, it is pending again.
func (c *Cache) breakReservation(uid types.UID) {
	r, ok := c.endReservation(uid)
	if !ok {
		return
	}
	if e := c.waiting[r.Pod]; e != nil && e.obj.UID == uid {
		c.tellPending(e)
	}
}

func (c *Cache) breakReservations(unit reservation.Unit) {
	for _, r := range c.reserved.On(unit) {
		c.breakReservation(r.UID)
	}
}

// nominatedGrace is bindGrace for pods that are nominated to the instance. The scheduler takes a nomination away when it has tried
// the instance in vain; as long as it stands, the pod's turn has not come, and no other instance would be of use. Its turn
// comes within five minutes (kube-scheduler, podMaxInUnschedulablePodsDuration).
const nominatedGrace = 5 * time.Minute

// hurryReservations shortens the reservations of an instance that is ready: the scheduler should bind now.
func (c *Cache) hurryReservations(unit reservation.Unit, claim string) {
	node, _ := unit.Node()
	for _, r := range c.reserved.On(unit, reservation.OfClaim(claim)) {
		c.hurry(r, node)
	}
}

// hurry shortens a reservation on a node that is ready.
func (c *Cache) hurry(r reservation.Reservation, node string) {
	if e := c.entries[r.Pod]; e != nil && c.leaving(e) {
		return // it is not evicted yet
	}
	grace := c.bindGrace
	if node != "" && c.reserved.Nominated(r.UID, node) {
		grace = nominatedGrace
	}
	c.reserved.Shorten(r.UID, c.now().Add(grace))
}

func (c *Cache) touchReservation(uid types.UID) {
	if r, ok := c.reserved.Of(uid); ok {
		c.touchUnit(r.Unit)
	}
}

// touchUnit marks the unit that shows the pods of a reservation: the claim's own, or that of its Node.
func (c *Cache) touchUnit(unit reservation.Unit) {
	c.touch(unit)
	name, ok := unit.Claim()
	if !ok {
		return
	}
	if claim := c.claims.get("", name); claim != nil && claim.Status.ProviderID != "" {
		c.touchID(claim.Status.ProviderID)
	}
}

// expire ends what was reserved, expected or held for too long.
func (c *Cache) expire() {
	now := c.now()
	if end := c.blocks.end; !end.IsZero() && !now.Before(end) {
		c.dirtyWait = true
	}
	c.expireNominations(now)
	c.reserved.ExpireSuccessions(now)
	for _, r := range c.reserved.Over(now) {
		c.missed(r)
		c.breakReservation(r.UID)
	}
	for name, uid := range c.reserved.LapsedClaims(now) {
		if claim := c.claims.get("", name); claim != nil && claim.UID == uid {
			delete(c.claims.objects, podKey{Name: name})
			c.forgetClaim(claim)
		}
	}
}

// waitingOn are the pods that wait for room which is reserved for them on a unit, in no order.
func (c *Cache) waitingOn(unit reservation.Unit) []*entry {
	var out []*entry
	for _, r := range c.reserved.On(unit) {
		if e := c.waiting[r.Pod]; e != nil && e.obj.UID == r.UID {
			out = append(out, e)
		}
	}
	return out
}

// Reserved reports whether room on a node is kept for a pod: by a decision, or because the scheduler has nominated it to the node.
//
// Cost: a look-up for each pod that is nominated where none is reserved.
func (c *Cache) Reserved(pod types.UID) bool {
	if c.reserved.Has(pod) {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, on := range c.nominees {
		for key := range on {
			if e := c.entries[key]; e.obj.UID == pod {
				return c.comes(key, e)
			}
		}
	}
	return false
}

// WaitingFor says since when the longest waiting of the pods that are given room on a claim has waited; ok is false when
// none is.
func (c *Cache) WaitingFor(claim string) (since time.Time, ok bool) {
	c.mu.Lock()
	defer c.unlock()
	for _, r := range c.reserved.On(reservation.OfClaim(claim)) {
		e := c.entries[r.Pod]
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
	for _, e := range c.waitingOn(reservation.OfClaim(claim)) {
		out = append(out, e.obj)
	}
	slices.SortFunc(out, func(a, b *corev1.Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return out
}
