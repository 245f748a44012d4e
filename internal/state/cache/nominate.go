package cache

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// mostNominations is how often a pod is nominated at most: the scheduler takes a nomination away each time that it looks at
// the pod while the node takes no pods yet.
const mostNominations = 5

// nomination is the node that Kerf has asked the scheduler to try first for a pod.
type nomination struct {
	node  string
	times int
	lost  bool // it was taken away or could not be written, and was not written again yet
}

// Nominees are the pods that are given room on a claim, wait, and are nominated to no node: those that the scheduler should
// try on the claim's node first. There are none when nobody waits for another instance, or only pods just like them. What is returned counts as nominated
// (see NotNominated), and must not be changed.
//
// Pods that never preempt or are scheduled as a group, and those of other schedulers, are left out: nobody would take a
// nomination away that has come to nothing.
func (c *Cache) Nominees(claim, node string) []*corev1.Pod {
	c.mu.Lock()
	defer c.unlock()
	mine := c.byTarget[claimUnit(claim)]
	if len(mine) == 0 || !c.mistakable(claimUnit(claim)) {
		return nil
	}
	var out []*corev1.Pod
	for uid := range mine {
		e := c.waiting[c.reservations[uid].key]
		if e == nil || e.obj.UID != uid || e.obj.Status.NominatedNodeName != "" || !intake.Preempts(e.obj) || e.obj.Spec.SchedulerName != corev1.DefaultSchedulerName {
			continue
		}
		n := c.nominated[uid]
		if n == nil || n.node != node {
			n = &nomination{node: node, lost: true}
			c.nominated[uid] = n
		}
		if n.lost && n.times < mostNominations {
			n.times++
			n.lost = false
			out = append(out, e.obj)
		}
	}
	return out
}

// NotNominated takes back that a pod was nominated: it could not be written. It counts as one of the times all the same.
func (c *Cache) NotNominated(pod *corev1.Pod) {
	c.mu.Lock()
	defer c.unlock()
	if n := c.nominated[pod.UID]; n != nil {
		n.lost = true
	}
}

// mistakable reports whether a pod that is given room on another instance could be put on the unit to the harm of those that
// the unit is for: one waits that is not like all of them. Pods that are all alike fit in each other's places, and a
// nomination for each would be a write for each.
func (c *Cache) mistakable(unit string) bool {
	var like *cluster.Class
	for uid := range c.byTarget[unit] {
		if e := c.waiting[c.reservations[uid].key]; e != nil && e.obj.UID == uid {
			if like != nil && e.pod.Class.ID != like.ID {
				like = nil
				break
			}
			like = e.pod.Class
		}
	}
	for target, pods := range c.byTarget {
		if target == unit {
			continue
		}
		for uid := range pods {
			if e := c.waiting[c.reservations[uid].key]; e != nil && e.obj.UID == uid && (like == nil || e.pod.Class.ID != like.ID) {
				return true
			}
		}
	}
	return false
}

// provisionable is intake's, but for nominations that are no preemption. Only the scheduler nominates pods to a node that
// takes pods, unless it was Kerf, which this process knows of its own nominations only; and only pods that may preempt.
func (c *Cache) provisionable(pod *corev1.Pod) bool {
	to := pod.Status.NominatedNodeName
	if to == "" {
		return intake.Provisionable(pod)
	}
	n := c.nominated[pod.UID]
	if n != nil && n.node == to && !n.lost || !intake.Preempts(pod) || !c.takesPods(to) {
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

// followNomination tells of a pod whose nomination the scheduler has taken away while its node is still on its way.
func (c *Cache) followNomination(e, old *entry) {
	n := c.nominated[e.obj.UID]
	if n == nil {
		return
	}
	if e.pod.Node != "" {
		delete(c.nominated, e.obj.UID)
		return
	}
	if e.obj.Status.NominatedNodeName != "" || old.obj.Status.NominatedNodeName == "" {
		return
	}
	n.lost = true
	if p := c.reservations[e.obj.UID]; p != nil && p.target[0] == 'c' && c.waiting[p.key] == e {
		c.tell(NominationLost, p.target[2:])
	}
}

// indexNominee keeps which pods without a node are nominated to one.
func (c *Cache) indexNominee(key types.NamespacedName, pod *corev1.Pod, add bool) {
	to := pod.Status.NominatedNodeName
	switch {
	case to == "" || pod.Spec.NodeName != "":
	case add:
		c.nominees.add(to, key)
	default:
		c.nominees.remove(to, key)
	}
}
