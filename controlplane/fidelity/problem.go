package fidelity

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kerf-sh/kerf/internal/controller/apply"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/state/cache"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// now is the moment at which every case takes place.
var now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// Problem reads the case as the controller would. The pods are those of the case, or what the API server has made of
// them; either way, names stand for UIDs, so that the same seed gives the same plan.
func (c *Case) Problem(pending []*corev1.Pod) *pack.Problem {
	k := cache.New(cache.Options{Now: func() time.Time { return now }})
	for _, ns := range namespaces() {
		k.SetNamespace(ns)
	}
	for _, o := range c.StorageClasses {
		k.SetStorageClass(o)
	}
	for _, o := range c.Volumes {
		k.SetVolume(o)
	}
	for _, o := range c.Claims {
		k.SetVolumeClaim(o)
	}
	for _, o := range c.DaemonSets {
		k.SetDaemonSet(o)
	}
	for _, o := range c.Nodes {
		k.SetNode(o)
	}
	for _, o := range c.InFlight {
		k.SetClaim(o)
	}
	for _, o := range c.CSINodes {
		k.SetCSINode(o)
	}
	for _, o := range c.Running {
		k.SetPod(asKnown(o))
	}
	for _, o := range c.Leaving {
		gone := o.DeepCopy()
		gone.DeletionTimestamp = new(metav1.NewTime(now))
		k.SetNode(gone)
	}
	for i, o := range pending {
		pod := asWaiting(o, i)
		if on := c.LeavingPods[o.Name]; on != "" {
			pod.Spec.NodeName, pod.Status.Conditions = on, nil
		}
		k.SetPod(pod)
	}
	snapshot := k.Snapshot()
	p := &pack.Problem{Now: now, Generation: snapshot.Generation, Nodes: snapshot.Nodes, Pending: snapshot.Pending, Daemons: snapshot.Daemons,
		Options: pack.Options{WellKnown: apply.WellKnownLabels(), MinValuesBestEffort: c.BestEffort, IgnorePreferences: c.IgnorePreferences,
			PreferenceShare: c.PreferenceShare}}
	used := apply.Usage(snapshot)
	for _, pool := range c.Pools {
		read := intake.Pool(pool, nodeClass(), c.Types)
		read.Used = used[pool.Name]
		p.Pools = append(p.Pools, read)
	}
	p.Nodes = new(cluster.Pricer).Apply(p.Nodes, p.Pools)
	return p
}

// asKnown is the pod with its name for a UID.
func asKnown(in *corev1.Pod) *corev1.Pod {
	pod := in.DeepCopy()
	pod.UID, pod.ResourceVersion = types.UID(in.Name), ""
	pod.CreationTimestamp = metav1.NewTime(now.Add(-time.Hour))
	if set := in.Labels[daemonLabel]; set != "" {
		// The API server does not get to see the owner, or the garbage collector would look for it.
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: set, UID: types.UID(set), Controller: new(true)}}
	}
	return pod
}

// asWaiting is the pod as it looks once the scheduler has found no place for it.
func asWaiting(in *corev1.Pod, i int) *corev1.Pod {
	pod := asKnown(in)
	pod.CreationTimestamp = metav1.NewTime(now.Add(time.Duration(i-60) * time.Second))
	pod.Spec.SchedulingGates = nil
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
		Message: fmt.Sprintf("0/%d nodes are available", i)}}
	return pod
}
