package cache

import (
	"errors"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/guard"
	"github.com/kerf-sh/kerf/internal/state/intake"
	"github.com/kerf-sh/kerf/internal/state/reservation"
)

// An object on which reading panics is set aside: the others are served, and it is read again after a pause that doubles, a pod also
// whenever it changes. Until then
//
//   - a pod without a node is not provisioned for;
//   - a pod on a node counts with what it requests, and keeps its node from disruption;
//   - a node stays as it was read last, and is not disrupted;
//   - the pods of a DaemonSet take of new nodes what they took when it was read last, nothing if it never was.
const (
	firstPause = time.Second
	mostPause  = 5 * time.Minute
)

// asideKey is a pod, the unit of a node, or a DaemonSet.
type asideKey struct {
	pod  types.NamespacedName
	unit reservation.Unit
	set  types.NamespacedName
}

type aside struct {
	due   time.Time
	pause time.Duration
}

// failure is told once the lock is free.
type failure struct {
	obj client.Object
	err *guard.Panic
}

// setAside notes that reading an object panicked.
func (c *Cache) setAside(key asideKey, obj client.Object, err error) {
	var p *guard.Panic
	if !errors.As(err, &p) {
		return
	}
	a := c.aside[key]
	a.pause = min(max(2*a.pause, firstPause), mostPause)
	a.due = c.now().Add(a.pause)
	c.aside[key] = a
	if obj != nil {
		c.failures = append(c.failures, failure{obj, p})
	}
}

// retryAside reads again what is due.
func (c *Cache) retryAside() {
	now := c.now()
	for key, a := range c.aside {
		if now.Before(a.due) {
			continue
		}
		switch {
		case key.unit != "":
			c.dirty[key.unit] = struct{}{}
		case key.set.Name != "":
			c.dirtySets[key.set] = struct{}{}
		default:
			if pod := c.pods.get(key.pod.Namespace, key.pod.Name); pod != nil {
				c.putPod(pod)
			} else {
				delete(c.aside, key)
			}
		}
	}
}

// readPod makes a pod's value. ok is false where that panics and nothing is to be made of the pod; seen is the object that
// the value is of.
func (c *Cache) readPod(pod *corev1.Pod) (seen *corev1.Pod, value *cluster.Pod, ok bool) {
	key := asideKey{pod: client.ObjectKeyFromObject(pod)}
	read := func(p *corev1.Pod) error {
		return guard.Run("intake.pod", func() error {
			value = intake.Pod(p, c.classOf(p, lookup{c}))
			return nil
		})
	}
	err := read(pod)
	if err == nil {
		delete(c.aside, key)
		return pod, value, true
	}
	c.setAside(key, pod, err)
	if pod.Spec.NodeName == "" {
		return nil, nil, false
	}
	bare := withoutDemands(pod)
	return bare, value, read(bare) == nil
}

// withoutDemands is a pod that is bound, with what it takes of its node and nothing else, and not to be disrupted.
func withoutDemands(pod *corev1.Pod) *corev1.Pod {
	out := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, CreationTimestamp: pod.CreationTimestamp, DeletionTimestamp: pod.DeletionTimestamp,
			OwnerReferences: pod.OwnerReferences, Annotations: map[string]string{karpv1.DoNotDisruptAnnotationKey: "true"},
		},
		Spec:   corev1.PodSpec{NodeName: pod.Spec.NodeName, TerminationGracePeriodSeconds: pod.Spec.TerminationGracePeriodSeconds},
		Status: corev1.PodStatus{Phase: pod.Status.Phase, Conditions: pod.Status.Conditions, StartTime: pod.Status.StartTime},
	}
	for i := range pod.Spec.Containers {
		out.Spec.Containers = append(out.Spec.Containers, corev1.Container{Name: pod.Spec.Containers[i].Name, Resources: pod.Spec.Containers[i].Resources})
	}
	return out
}

// readUnit makes a unit's value. ok is false where that panics and the unit stays as it is.
func (c *Cache) readUnit(unit reservation.Unit) (next *cluster.Node, ok bool) {
	key := asideKey{unit: unit}
	a, was := c.aside[key]
	if was && c.now().Before(a.due) {
		return nil, false
	}
	err := guard.Run("intake.node", func() error { next = c.unitOf(unit); return nil })
	if err == nil {
		delete(c.aside, key)
		return next, true
	}
	c.setAside(key, c.objectOf(unit), err)
	old := c.units[unit]
	if old == nil || old.DoNotDisrupt {
		return nil, false
	}
	kept := *old
	kept.DoNotDisrupt = true
	return &kept, true
}

// readDaemon makes a DaemonSet's value; ok is false where it has none. read is false where that panics and the value stays as it is.
func (c *Cache) readDaemon(name types.NamespacedName, ds *appsv1.DaemonSet) (value cluster.Daemon, ok, read bool) {
	key := asideKey{set: name}
	if a, was := c.aside[key]; was && c.now().Before(a.due) {
		return value, false, false
	}
	err := guard.Run("intake.daemonset", func() error { value, ok = c.daemonOf(ds, c.newestDaemonPod(name)); return nil })
	if err != nil {
		c.setAside(key, ds, err)
		return value, false, false
	}
	delete(c.aside, key)
	return value, ok, true
}

// objectOf is the Node or NodeClaim behind a unit; nil when it is gone.
func (c *Cache) objectOf(unit reservation.Unit) client.Object {
	if name, ok := unit.Claim(); ok {
		if claim := c.claims.get("", name); claim != nil {
			return claim
		}
	} else if name, ok := unit.Node(); ok {
		if node := c.nodes.get("", name); node != nil {
			return node
		}
	}
	return nil
}
