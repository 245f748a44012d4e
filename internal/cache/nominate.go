package cache

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/kerf-sh/kerf/internal/intake"
)

// mostNominations is how often a pod is nominated at most: the scheduler takes a nomination away each time that it looks at
// the pod while the node takes no pods yet.
const mostNominations = 5

// nomination is the node that Kerf has asked the scheduler to try first for a pod.
type nomination struct {
	node  string
	times int
	lost  bool // it was taken away, and not written again yet
}

// Nominees are the pods that are promised to a claim, wait, and are not nominated to a node: those that the scheduler should
// try on the claim's node first. There are none when no other machine is on its way to pods: they all find room on it then.
// What is returned counts as nominated, and must not be changed.
func (c *Cache) Nominees(claim, node string) []*corev1.Pod {
	c.mu.Lock()
	defer c.unlock()
	mine := c.byTarget[claimUnit(claim)]
	if len(mine) == 0 || !c.othersWait(claimUnit(claim)) {
		return nil
	}
	var out []*corev1.Pod
	for uid := range mine {
		e := c.waiting[c.promises[uid].key]
		if e == nil || e.obj.UID != uid || e.obj.Status.NominatedNodeName != "" {
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

// othersWait reports whether a pod waits that is promised to a machine other than the unit.
func (c *Cache) othersWait(unit string) bool {
	for target, pods := range c.byTarget {
		if target == unit {
			continue
		}
		for uid := range pods {
			if e := c.waiting[c.promises[uid].key]; e != nil && e.obj.UID == uid {
				return true
			}
		}
	}
	return false
}

// provisionable is intake's, but for pods that Kerf itself has nominated: they wait for no preemption.
func (c *Cache) provisionable(pod *corev1.Pod) bool {
	if n := c.nominated[pod.UID]; n != nil {
		return intake.ProvisionableBut(pod, n.node)
	}
	return intake.Provisionable(pod)
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
	if e.obj.Status.NominatedNodeName != "" || old.obj.Status.NominatedNodeName != n.node {
		return
	}
	n.lost = true
	if p := c.promises[e.obj.UID]; p != nil && p.target[0] == 'c' && c.waiting[p.key] == e {
		c.tell(NominationLost, p.target[2:])
	}
}
