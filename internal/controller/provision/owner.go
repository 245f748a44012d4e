package provision

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kerf-sh/kerf/internal/state/cache"
)

// replicasKept is how long what an owner wants is remembered: a burst asks again and again.
const replicasKept = time.Second

// Owners knows how many pods the owners of pods are still going to create. It asks for an owner when a burst may be over,
// because few clusters have bursts often enough for watching all ReplicaSets.
//
// Concurrency: safe.
type Owners struct {
	// Reader reads past caches, so that nothing is watched.
	Reader client.Reader
	// Settled counts the pods of an owner that have a node or wait for one.
	Settled func(types.UID) int
	Now     func() time.Time

	mu    sync.Mutex
	uid   types.UID
	wants int
	known bool
	asked time.Time
}

// Missing is how many pods of the owner are still to come. ok is false for kinds that do not say, and for owners that
// can't be read.
//
// Cost: at most one read of one object a second while the same owner is asked for.
func (o *Owners) Missing(ctx context.Context, owner cache.Owner) (n int, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if now := o.Now(); o.uid != owner.UID || now.Sub(o.asked) >= replicasKept {
		o.wants, o.known = o.ask(ctx, owner)
		o.uid, o.asked = owner.UID, now
	}
	return o.wants - o.Settled(owner.UID), o.known
}

// ask reads how many pods the owner wants to have at the same time.
func (o *Owners) ask(ctx context.Context, owner cache.Owner) (int, bool) {
	key := client.ObjectKey{Namespace: owner.Namespace, Name: owner.Name}
	read := func(obj client.Object) bool { return o.Reader.Get(ctx, key, obj) == nil && obj.GetUID() == owner.UID }
	switch owner.APIVersion + " " + owner.Kind {
	case "apps/v1 ReplicaSet":
		// Pods that it can't create, such as beyond a quota, do not come.
		if rs := new(appsv1.ReplicaSet); read(rs) && !failing(rs) {
			return replicas(rs.Spec.Replicas), true
		}
	case "apps/v1 StatefulSet":
		// In order, the next pod comes when the one before it is ready: nothing is to be waited for.
		if s := new(appsv1.StatefulSet); read(s) && s.Spec.PodManagementPolicy == appsv1.ParallelPodManagement {
			return replicas(s.Spec.Replicas), true
		}
	case "v1 ReplicationController":
		if rc := new(corev1.ReplicationController); read(rc) {
			return replicas(rc.Spec.Replicas), true
		}
	case "batch/v1 Job":
		if j := new(batchv1.Job); read(j) {
			return active(j), true
		}
	}
	return 0, false
}

// active is how many pods a Job wants to have at the same time, beside those that are ending.
//
// Source: kube-controller-manager's Job controller, v1.36.
func active(j *batchv1.Job) int {
	if j.Spec.Suspend != nil && *j.Spec.Suspend || slices.ContainsFunc(j.Status.Conditions, ends) {
		return 0
	}
	n := replicas(j.Spec.Parallelism)
	switch {
	case j.Spec.Completions != nil: // an index that has failed is not tried again
		n = min(n, int(*j.Spec.Completions-j.Status.Succeeded)-indexes(j.Status.FailedIndexes))
	case j.Status.Succeeded > 0: // what runs is left to end
		return 0
	}
	if onlyFailed := j.Spec.PodReplacementPolicy; j.Status.Terminating != nil && (onlyFailed != nil && *onlyFailed == batchv1.Failed || j.Spec.PodFailurePolicy != nil) {
		n -= int(*j.Status.Terminating) // each is replaced when it has ended
	}
	return n
}

// ends reports whether a condition of a Job says that it makes no more pods.
func ends(c batchv1.JobCondition) bool {
	switch c.Type {
	case batchv1.JobComplete, batchv1.JobFailed, batchv1.JobSuccessCriteriaMet, batchv1.JobFailureTarget:
		return c.Status == corev1.ConditionTrue
	}
	return false
}

// indexes counts a Job's indexes as its status lists them, such as "1,3-5". What can't be read counts for nothing.
func indexes(list *string) (n int) {
	if list == nil {
		return 0
	}
	for part := range strings.SplitSeq(*list, ",") {
		first, last, ranged := strings.Cut(part, "-")
		if !ranged {
			last = first
		}
		from, err := strconv.Atoi(first)
		to, err2 := strconv.Atoi(last)
		if err == nil && err2 == nil && from <= to {
			n += to - from + 1
		}
	}
	return n
}

func failing(rs *appsv1.ReplicaSet) bool {
	return slices.ContainsFunc(rs.Status.Conditions, func(c appsv1.ReplicaSetCondition) bool {
		return c.Type == appsv1.ReplicaSetReplicaFailure && c.Status == corev1.ConditionTrue
	})
}

// replicas is a number of pods as the API means it: one unless it says otherwise.
func replicas(n *int32) int {
	if n == nil {
		return 1
	}
	return int(*n)
}
