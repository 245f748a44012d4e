package actors

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

// Each actor looks whenever anything has changed, so a look must cost what the change is worth, not what the cluster is: pods are found by
// what is to be done with them, and owners are marked by what happens to them and to their pods.

// Indices of pods, and the only value of those that hold just some of them.
const (
	byOwner   = "owner"   // the UID of the controller
	byNode    = "node"    // its name
	unplaced  = "waiting" // pods without a node that are to run
	unsettled = "acting"  // pods on nodes to which something happens next by itself
	some      = "yes"
)

func (c *Actors) podIndexers() cache.Indexers {
	only := func(takes func(*corev1.Pod) bool) cache.IndexFunc {
		values := []string{some}
		return func(obj any) ([]string, error) {
			if takes(obj.(*corev1.Pod)) {
				return values, nil
			}
			return nil, nil
		}
	}
	return cache.Indexers{
		byOwner: func(obj any) ([]string, error) {
			if o := metav1.GetControllerOfNoCopy(obj.(*corev1.Pod)); o != nil {
				return []string{string(o.UID)}, nil
			}
			return nil, nil
		},
		byNode: func(obj any) ([]string, error) {
			if name := obj.(*corev1.Pod).Spec.NodeName; name != "" {
				return []string{name}, nil
			}
			return nil, nil
		},
		unplaced: only(func(p *corev1.Pod) bool { return p.Spec.NodeName == "" && p.DeletionTimestamp == nil && !ended(p) }),
		unsettled: only(func(p *corev1.Pod) bool {
			_, act := c.due(p)
			return p.Spec.NodeName != "" && act != nil
		}),
	}
}

// podsBy are the pods with a value of an index, in no order; nothing of them may be changed.
func (c *Actors) podsBy(index, value string) ([]*corev1.Pod, error) {
	found, err := c.podIndex.ByIndex(index, value)
	if err != nil {
		return nil, err
	}
	out := make([]*corev1.Pod, len(found))
	for i := range found {
		out[i] = found[i].(*corev1.Pod)
	}
	return out, nil
}

// marks are objects that are to be looked at.
type marks[K comparable] struct {
	mu sync.Mutex
	of map[K]bool
}

func (m *marks[K]) add(which K) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.of == nil {
		m.of = map[K]bool{}
	}
	m.of[which] = true
}

func (m *marks[K]) any() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.of) > 0
}

// take returns the marks and takes them off.
func (m *marks[K]) take() map[K]bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := m.of
	m.of = nil
	return out
}

// hear gives pods their turn at the scheduler, and owners theirs when a pod of theirs goes; it marks those whose pods change.
func (c *Actors) hear() cache.ResourceEventHandler {
	changed := func(p *corev1.Pod) {
		if p.Spec.NodeName != "" {
			c.seatsDue.add(p.Spec.NodeName)
		}
		if o := metav1.GetControllerOfNoCopy(p); o != nil {
			c.setsDue.add(o.UID)
		}
	}
	goes := func(p *corev1.Pod) {
		if o := metav1.GetControllerOfNoCopy(p); o != nil {
			c.bereft.note(o.UID)
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) {
			p := obj.(*corev1.Pod)
			c.queued.note(p.UID)
			changed(p)
		},
		UpdateFunc: func(before, after any) {
			p := after.(*corev1.Pod)
			changed(p)
			if p.DeletionTimestamp != nil && before.(*corev1.Pod).DeletionTimestamp == nil {
				goes(p)
			}
		},
		DeleteFunc: func(obj any) {
			p := lastOf(obj).(*corev1.Pod)
			changed(p)
			c.queued.drop(p.UID)
			if p.DeletionTimestamp == nil {
				goes(p)
			}
		},
	}
}

// hearSets marks replica sets that change, and their deployments.
func (c *Actors) hearSets() cache.ResourceEventHandler {
	changed := func(obj any) {
		rs := lastOf(obj)
		c.setsDue.add(rs.GetUID())
		if o := metav1.GetControllerOfNoCopy(rs); o != nil {
			c.deploymentsDue.add(o.UID)
		}
	}
	return cache.ResourceEventHandlerFuncs{AddFunc: changed, UpdateFunc: func(_, after any) { changed(after) }, DeleteFunc: changed}
}

// hearDeployments marks deployments that change.
func (c *Actors) hearDeployments() cache.ResourceEventHandler {
	changed := func(obj any) { c.deploymentsDue.add(lastOf(obj).GetUID()) }
	return cache.ResourceEventHandlerFuncs{AddFunc: changed, UpdateFunc: func(_, after any) { changed(after) }, DeleteFunc: changed}
}

// lastOf is an object, or what was last known of one that is gone.
func lastOf(obj any) metav1.Object {
	if d, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = d.Obj
	}
	return obj.(metav1.Object)
}
