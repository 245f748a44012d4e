package cache

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Owner names the controller that a pod belongs to, such as a ReplicaSet. For a pod that has none only Namespace is set.
type Owner struct {
	APIVersion, Kind, Namespace, Name string
	UID                               types.UID
}

func owner(pod *corev1.Pod) Owner {
	o := metav1.GetControllerOf(pod)
	if o == nil {
		return Owner{Namespace: pod.Namespace}
	}
	return Owner{APIVersion: o.APIVersion, Kind: o.Kind, Namespace: pod.Namespace, Name: o.Name, UID: o.UID}
}

// Settled counts the pods of an owner that are bound to a node or known to wait for one. Those that the scheduler has not
// tried yet do not count.
func (c *Cache) Settled(uid types.UID) int {
	c.mu.Lock()
	defer c.unlock()
	return c.settled[uid]
}

// countSettled counts a pod among the settled ones of its owner, or takes it from them.
func (c *Cache) countSettled(e *entry, settled bool) {
	if e.counted == settled {
		return
	}
	o := metav1.GetControllerOfNoCopy(e.obj)
	if o == nil {
		return
	}
	e.counted = settled
	if settled {
		c.settled[o.UID]++
		return
	}
	if c.settled[o.UID]--; c.settled[o.UID] == 0 {
		delete(c.settled, o.UID)
	}
}
