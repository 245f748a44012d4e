package cache

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/state/intake"
	"github.com/kerf-sh/kerf/internal/state/reservation"
)

// Nominees are the pods that are given room on a claim, wait, and are nominated to no node: those that the scheduler should
// try on the claim's node first. There are none when nobody waits for another instance, or only pods just like them. What is returned counts as nominated
// (see NotNominated), and must not be changed.
//
// Pods that never preempt or are scheduled as a group, and those of other schedulers, are left out: nobody would take a
// nomination away that has come to nothing.
func (c *Cache) Nominees(claim, node string) []*corev1.Pod {
	c.mu.Lock()
	defer c.unlock()
	unit := reservation.OfClaim(claim)
	mine := c.waitingOn(unit)
	open := func(e *entry) bool {
		return e.obj.Status.NominatedNodeName == "" && intake.Preempts(e.obj) && e.obj.Spec.SchedulerName == corev1.DefaultSchedulerName
	}
	if !slices.ContainsFunc(mine, open) || !c.mistakable(unit, mine) {
		return nil
	}
	var out []*corev1.Pod
	for _, e := range mine {
		if !open(e) {
			continue
		}
		if c.reserved.Nominate(e.obj.UID, node) {
			out = append(out, e.obj)
		}
	}
	return out
}

// Unseen reports whether a pod of the claim was nominated to the node and no watch has told of it yet.
func (c *Cache) Unseen(claim, node string) bool {
	c.mu.Lock()
	defer c.unlock()
	return slices.ContainsFunc(c.waitingOn(reservation.OfClaim(claim)), func(e *entry) bool {
		return e.obj.Status.NominatedNodeName == "" && c.reserved.Nominated(e.obj.UID, node)
	})
}

// NotNominated takes back that a pod was nominated: it could not be written. It counts as one of the times all the same.
func (c *Cache) NotNominated(pod *corev1.Pod) { c.reserved.LoseNomination(pod.UID) }

// mistakable reports whether a pod that is given room on another instance could be put on the unit to the harm of those that
// the unit is for: one waits that is not like all of them. Pods that are all alike fit in each other's places, and a
// nomination for each would be a write for each.
func (c *Cache) mistakable(unit reservation.Unit, mine []*entry) bool {
	like := mine[0].pod.Class.ID
	if slices.ContainsFunc(mine, func(e *entry) bool { return e.pod.Class.ID != like }) {
		like = ""
	}
	return c.rivals.elsewhere(unit, like)
}

// provisionable is intake's, but for nominations that count as Kerf's. Only the scheduler nominates pods to a node that takes
// pods, unless it was Kerf, which this process knows of its own nominations only. Until Kubernetes 1.34 it did so with pods that
// may preempt; since 1.35 with all pods that it is about to bind and that wait for a volume or a device first. Of pods that never
// preempt it takes no nomination away, so that theirs says nothing.
func (c *Cache) provisionable(pod *corev1.Pod) bool {
	to := pod.Status.NominatedNodeName
	if to == "" {
		return intake.Provisionable(pod)
	}
	if c.reserved.Nominated(pod.UID, to) || !intake.Preempts(pod) || !c.takesPods(to) {
		return intake.ProvisionableBut(pod, to)
	}
	return false
}

// takesPods reports whether a node is there, stays, and has begun to take pods.
func (c *Cache) takesPods(name string) bool {
	node := c.nodes.get("", name)
	if node == nil || node.DeletionTimestamp != nil {
		return false
	}
	_, managed := node.Labels[karpv1.NodePoolLabelKey]
	return !managed || node.Labels[karpv1.NodeInitializedLabelKey] == "true"
}

// followNode looks again at the pods that are nominated to a node: whether it takes pods says who nominated them.
func (c *Cache) followNode(name string) {
	for key := range c.nominees[name] {
		if e := c.entries[key]; e != nil {
			c.setWaiting(key, e, e)
		}
	}
}

// followNomination tells of a pod whose nomination the scheduler has taken away. As a rule its node took no pods yet, or the
// scheduler had not seen that it does.
func (c *Cache) followNomination(e, old *entry) {
	if e.pod.Node != "" {
		c.reserved.ForgetNomination(e.obj.UID)
		return
	}
	if e.obj.Status.NominatedNodeName != "" || old.obj.Status.NominatedNodeName == "" {
		return
	}
	if !c.reserved.LoseNomination(e.obj.UID) {
		return
	}
	if r, ok := c.reserved.Of(e.obj.UID); ok && c.waiting[r.Pod] == e {
		if c.takesPods(old.obj.Status.NominatedNodeName) {
			c.reserved.Shorten(e.obj.UID, c.now().Add(c.bindGrace))
		}
		if claim, ok := r.Unit.Claim(); ok {
			c.tell(NominationLost, claim)
		}
	}
}

// indexNominee keeps which pods without a node are nominated to one.
func (c *Cache) indexNominee(key types.NamespacedName, pod *corev1.Pod, add bool) {
	to := pod.Status.NominatedNodeName
	if to == "" || pod.Spec.NodeName != "" {
		return
	}
	if add {
		c.nominees.add(to, key)
	} else {
		c.nominees.remove(to, key)
	}
	c.touch(reservation.OfNode(to))
}

// coming are the pods that the scheduler has nominated to a node and that count nowhere else: it ends other pods for them,
// or waits for their volumes. They do not wait for Kerf, and take room on the node before they are bound, for nominatedGrace: what
// comes to nothing, as a volume that is never made or a nomination by somebody else, does not hold the node for ever. In no order.
func (c *Cache) coming(node string) []*entry {
	var out []*entry
	for key := range c.nominees[node] {
		if e := c.entries[key]; c.comes(key, e) {
			out = append(out, e)
		}
	}
	return out
}

// comes reports whether a pod that is nominated to a node is one of those that are coming.
func (c *Cache) comes(key podKey, e *entry) bool {
	_, waits := c.waiting[key]
	return !waits && c.now().Before(e.nominated.Add(nominatedGrace)) && !e.pod.Daemon && !e.pod.Mirror && !e.pod.Terminating && !c.reserved.Has(e.obj.UID)
}

// lately is a nomination that was first seen a short time ago.
type lately struct {
	pod  podKey
	node string
	seen time.Time
}

// dateNomination notes since when the pod has been nominated to its node.
func (c *Cache) dateNomination(e, old *entry) {
	to := e.obj.Status.NominatedNodeName
	switch {
	case to == "" || e.obj.Spec.NodeName != "":
	case old != nil && old.obj.Status.NominatedNodeName == to && old.obj.Spec.NodeName == "":
		e.nominated = old.nominated
	default:
		e.nominated = c.now()
		c.lately = append(c.lately, lately{pod: client.ObjectKeyFromObject(e.obj), node: to, seen: e.nominated})
	}
}

// expireNominations marks the nodes of nominations that have stood for nominatedGrace, and tells of pods that wait there for a volume.
func (c *Cache) expireNominations(now time.Time) {
	n := 0
	for ; n < len(c.lately) && !now.Before(c.lately[n].seen.Add(nominatedGrace)); n++ {
		c.touch(reservation.OfNode(c.lately[n].node))
		c.missedVolume(c.lately[n])
	}
	c.lately = slices.Delete(c.lately, 0, n)
}

// missedVolume tells of a pod that the scheduler would have bound long ago to the node that it nominated the pod to, had a volume
// been made there. The node counts as empty from now on: without a word each decision would launch another for the pod.
func (c *Cache) missedVolume(l lately) {
	e := c.entries[l.pod]
	if e == nil || e.obj.Status.NominatedNodeName != l.node || !e.nominated.Equal(l.seen) || c.provisionable(e.obj) ||
		!intake.ProvisionableBut(e.obj, l.node) || !c.takesPods(l.node) {
		return
	}
	if claim, node := c.unmadeVolume(e.obj); node == l.node {
		c.changes = append(c.changes, Change{Kind: PodMissed, Name: e.pod.Name, Class: e.pod.Class.ID, Detail: fmt.Sprintf(
			"persistentvolumeclaim %q has no volume %s after kube-scheduler chose node %q: see the claim's events and its provisioner's log", claim, nominatedGrace, node)})
	}
}

// touchNominee marks the node that a pod is nominated to: whether it counts there depends on its reservation.
func (c *Cache) touchNominee(pod podKey) {
	if e := c.entries[pod]; e != nil && e.pod.Node == "" && e.obj.Status.NominatedNodeName != "" {
		c.touch(reservation.OfNode(e.obj.Status.NominatedNodeName))
	}
}
