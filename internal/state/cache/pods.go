package cache

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/guard"
	"github.com/kerf-sh/kerf/internal/state/intake"
	"github.com/kerf-sh/kerf/internal/state/reservation"
)

// entry is a pod that is not over, as it was taken in.
type entry struct {
	obj  *corev1.Pod
	pod  *cluster.Pod
	seen time.Time // when it was first found to be waiting
	// nominated is when its nomination was first seen; zero for none.
	nominated time.Time
	// counted is set while the pod is among the settled ones of its owner.
	counted bool
}

// usesClaims reports whether the pod keeps others from claims that one pod at a time may use. It may be nil.
func (e *entry) usesClaims() bool { return e != nil && e.pod.Node != "" && e.pod.InCompany() }

// SetPod takes in a version of a pod.
func (c *Cache) SetPod(pod *corev1.Pod) {
	c.mu.Lock()
	defer c.unlock()
	if c.pods.set(pod) {
		c.putPod(pod)
		c.boundElsewhere(pod.Spec.NodeName)
	}
}

// RemovePod takes in a pod's deletion.
func (c *Cache) RemovePod(pod *corev1.Pod) {
	c.mu.Lock()
	defer c.unlock()
	if c.pods.remove(pod) {
		c.dropPod(client.ObjectKeyFromObject(pod))
	}
}

func (c *Cache) putPod(pod *corev1.Pod) {
	key := client.ObjectKeyFromObject(pod)
	old := c.entries[key]
	if old != nil && old.obj.UID != pod.UID {
		c.dropPod(key)
		old = nil
	}
	if !intake.IsActive(pod) {
		c.dropPod(key)
		return
	}
	pod, value, ok := c.readPod(pod)
	if !ok {
		c.dropPod(key)
		return
	}
	e := &entry{obj: pod, pod: value}
	if old != nil {
		e.seen = old.seen
		if samePod(e.pod, old.pod) {
			e.pod = old.pod
		} else {
			c.touchNode(old.pod.Node)
		}
		c.unindexPod(key, old.obj)
		c.countSettled(old, false)
	}
	c.entries[key] = e
	c.dateNomination(e, old)
	c.indexPod(key, pod)
	c.notePodEvent(e, old)
	if n := c.units[reservation.OfNode(e.pod.Node)]; n != nil && n.Virtual > 0 && (old == nil || old.pod.Node == "") {
		c.tell(BufferMoved, n.Name) // it may have taken the room
	}
	if old == nil || e.pod != old.pod {
		c.touchNode(e.pod.Node)
		c.touchReservation(pod.UID)
	}
	if _, ok := c.deleting[reservation.OfNode(e.pod.Node)]; ok {
		c.dirtyWait = true // whether it may be moved can change without the pod's value
	}
	c.bound(e, old)
	c.settleReservation(e)
	c.setWaiting(key, e, old)
	c.follow(key, e, old)
	if old != nil {
		c.refusedAgain(e, old)
		c.followNomination(e, old)
	}
	if e.usesClaims() != old.usesClaims() {
		c.claimsTaken(pod)
	}
	if old == nil || e.pod != old.pod {
		c.touchDaemonSet(pod)
		if old != nil {
			c.touchDaemonSet(old.obj)
		}
	}
}

func (c *Cache) touchDaemonSet(pod *corev1.Pod) {
	if name := intake.DaemonSetName(pod); name != "" {
		c.dirtySets[types.NamespacedName{Namespace: pod.Namespace, Name: name}] = struct{}{}
	}
}

func (c *Cache) dropPod(key types.NamespacedName) {
	e := c.entries[key]
	if e == nil {
		return
	}
	c.unindexPod(key, e.obj)
	c.countSettled(e, false)
	delete(c.entries, key)
	delete(c.starting, key)
	c.dropped++
	c.touchNode(e.pod.Node)
	if _, ok := c.waiting[key]; ok {
		delete(c.waiting, key)
		c.dirtyWait = true
	}
	if r, ok := c.reserved.Of(e.obj.UID); ok && e.pod.Node != "" && e.pod.Class != nil {
		// It has ended before anybody told that it was asked to.
		c.reserved.LeaveToSuccessor(owner(e.obj).UID, r.Unit, e.pod.Class.ID, c.now())
	}
	c.breakReservation(e.obj.UID)
	c.reserved.ForgetNomination(e.obj.UID)
	if e.pod.Node != "" {
		if !e.pod.Daemon && !e.pod.Terminating {
			c.podEvent(e.pod.Node, c.now())
		}
		if len(c.podsByNode[e.pod.Node]) == 0 && c.nodes.get("", e.pod.Node) == nil {
			delete(c.constraints.podEvents, e.pod.Node) // pods may go after their node
		}
		c.tell(PodLeft, e.pod.Name)
	}
	c.touchDaemonSet(e.obj)
	if e.usesClaims() {
		c.claimsTaken(e.obj)
	}
}

func (c *Cache) indexPod(key types.NamespacedName, pod *corev1.Pod) {
	delete(c.constraints.byNode, pod.Spec.NodeName)
	if pod.Spec.NodeName != "" {
		on := c.podsByNode[pod.Spec.NodeName]
		if on == nil {
			on = map[types.NamespacedName]*entry{}
			c.podsByNode[pod.Spec.NodeName] = on
		}
		on[key] = c.entries[key]
	}
	c.indexNominee(key, pod, true)
	for _, claim := range intake.VolumeClaims(pod) {
		c.claimUsers.add(types.NamespacedName{Namespace: pod.Namespace, Name: claim}, key)
	}
	if intake.DependsOnNamespaces(pod) {
		c.nsDependent[key] = struct{}{}
	}
	if name := intake.DaemonSetName(pod); name != "" {
		c.daemonPods.add(types.NamespacedName{Namespace: pod.Namespace, Name: name}, key)
	}
}

func (c *Cache) unindexPod(key types.NamespacedName, pod *corev1.Pod) {
	delete(c.constraints.byNode, pod.Spec.NodeName)
	if on := c.podsByNode[pod.Spec.NodeName]; on != nil {
		delete(on, key)
		if len(on) == 0 {
			delete(c.podsByNode, pod.Spec.NodeName)
		}
	}
	c.indexNominee(key, pod, false)
	for _, claim := range intake.VolumeClaims(pod) {
		c.claimUsers.remove(types.NamespacedName{Namespace: pod.Namespace, Name: claim}, key)
	}
	delete(c.nsDependent, key)
	if name := intake.DaemonSetName(pod); name != "" {
		c.daemonPods.remove(types.NamespacedName{Namespace: pod.Namespace, Name: name}, key)
	}
}

func (c *Cache) setWaiting(key types.NamespacedName, e, old *entry) {
	_, was := c.waiting[key]
	waits := c.provisionable(e.obj)
	c.countSettled(e, !e.pod.Terminating && (waits || e.pod.Node != ""))
	if !waits {
		if was {
			delete(c.waiting, key)
			c.followRival(key)
			c.dirtyWait = true
		}
		return
	}
	c.waiting[key] = e
	c.followRival(key)
	if e.seen.IsZero() {
		e.seen = c.now()
		c.starting[key] = starting{}
	}
	switch {
	case !was:
		c.dirtyWait = true
		if !c.reserved.Has(e.obj.UID) {
			c.tellPending(e)
		}
	case e.pod != old.pod:
		c.dirtyWait = true
		c.tell(PodChanged, e.pod.Name)
	}
}

// recompile makes the pod's class again after something that it depends on changed.
func (c *Cache) recompile(e *entry) {
	var class *cluster.Class
	if err := guard.Run("intake.pod", func() error { class = c.classOf(e.obj, lookup{c}); return nil }); err != nil {
		c.setAside(asideKey{pod: client.ObjectKeyFromObject(e.obj)}, e.obj, err) // until then it keeps its class
		return
	}
	if class.ID == e.pod.Class.ID {
		return
	}
	e.pod = intake.Pod(e.obj, class)
	c.touchNode(e.pod.Node)
	c.touchReservation(e.obj.UID)
	c.touchNominee(client.ObjectKeyFromObject(e.obj))
	c.followRival(client.ObjectKeyFromObject(e.obj))
	if _, ok := c.waiting[client.ObjectKeyFromObject(e.obj)]; ok {
		c.dirtyWait = true
		c.tell(PodChanged, e.pod.Name)
	}
}

func samePod(a, b *cluster.Pod) bool {
	x, y := *a, *b
	sameClass := x.Class.ID == y.Class.ID
	x.Class, y.Class = nil, nil
	return sameClass && x.CreatedAt.Equal(y.CreatedAt) && x.PodRef == y.PodRef && x.Node == y.Node &&
		x.Daemon == y.Daemon && x.Mirror == y.Mirror && x.Terminating == y.Terminating && x.Lingers == y.Lingers
}

func (c *Cache) touchNode(name string) {
	if name == "" {
		return
	}
	key := reservation.OfNode(name)
	c.dirty[key] = struct{}{}
	if _, ok := c.deleting[key]; ok {
		c.dirtyWait = true
	}
}

// Waiting says since when the pod was known to wait for a node; ok is false when it does not wait.
func (c *Cache) Waiting(ref cluster.PodRef) (since time.Time, ok bool) {
	c.mu.Lock()
	defer c.unlock()
	e := c.waiting[types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}]
	if e == nil || string(e.obj.UID) != ref.UID {
		return time.Time{}, false
	}
	return e.seen, true
}

// Pod is the newest version of a pod that is not over, nil when there is none with that UID. It must not be changed.
func (c *Cache) Pod(ref cluster.PodRef) *corev1.Pod {
	c.mu.Lock()
	defer c.unlock()
	e := c.entries[types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}]
	if e == nil || string(e.obj.UID) != ref.UID {
		return nil
	}
	return e.obj
}
