package provision

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kerf-sh/kerf/internal/state/cache"
)

type ownerCase struct {
	owner   client.Object
	version string
	kind    string
	uid     types.UID
	want    int
	unknown bool
}

// jobOf is the case of a Job that wants 50 pods at the same time, of which three are there.
func jobOf(meta metav1.ObjectMeta, edit func(*batchv1.Job), want int) ownerCase {
	j := &batchv1.Job{ObjectMeta: meta, Spec: batchv1.JobSpec{Parallelism: new(int32(50))}}
	edit(j)
	return ownerCase{owner: j, version: "batch/v1", kind: "Job", want: want}
}

func condition(kind batchv1.JobConditionType, status corev1.ConditionStatus) func(*batchv1.Job) {
	return func(j *batchv1.Job) { j.Status.Conditions = []batchv1.JobCondition{{Type: kind, Status: status}} }
}

func TestHowManyPodsOfAnOwnerAreToCome(t *testing.T) {
	meta := metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "u"}
	for name, tt := range map[string]ownerCase{
		"a ReplicaSet": {owner: &appsv1.ReplicaSet{ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{Replicas: new(int32(7))}}, version: "apps/v1", kind: "ReplicaSet", want: 4},
		"one that may not create more": {owner: &appsv1.ReplicaSet{ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{Replicas: new(int32(7))}, Status: appsv1.ReplicaSetStatus{
			Conditions: []appsv1.ReplicaSetCondition{{Type: appsv1.ReplicaSetReplicaFailure, Status: "True"}},
		}}, version: "apps/v1", kind: "ReplicaSet", unknown: true},
		"one that does not say":              {owner: &appsv1.ReplicaSet{ObjectMeta: meta}, version: "apps/v1", kind: "ReplicaSet", want: -2},
		"another of the same name":           {owner: &appsv1.ReplicaSet{ObjectMeta: meta}, version: "apps/v1", kind: "ReplicaSet", uid: "other", unknown: true},
		"one that is gone":                   {version: "apps/v1", kind: "ReplicaSet", unknown: true},
		"a StatefulSet, one after the other": {owner: &appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Replicas: new(int32(7))}}, version: "apps/v1", kind: "StatefulSet", unknown: true},
		"a StatefulSet, all at once": {owner: &appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Replicas: new(int32(7)), PodManagementPolicy: appsv1.ParallelPodManagement}},
			version: "apps/v1", kind: "StatefulSet", want: 4},
		"a Job": {owner: &batchv1.Job{ObjectMeta: meta, Spec: batchv1.JobSpec{Parallelism: new(int32(50))}}, version: "batch/v1", kind: "Job", want: 47},
		"a Job near its end": {owner: &batchv1.Job{ObjectMeta: meta, Spec: batchv1.JobSpec{Parallelism: new(int32(50)), Completions: new(int32(100))}, Status: batchv1.JobStatus{Succeeded: 95}},
			version: "batch/v1", kind: "Job", want: 2},
		"a Job of which indexes have failed": {owner: &batchv1.Job{ObjectMeta: meta, Spec: batchv1.JobSpec{Parallelism: new(int32(50)), Completions: new(int32(100))}, Status: batchv1.JobStatus{
			Succeeded: 40, FailedIndexes: new("1,3-55,99"),
		}}, version: "batch/v1", kind: "Job", want: 2},
		"a Job whose pods are replaced when they have failed": {owner: &batchv1.Job{ObjectMeta: meta, Spec: batchv1.JobSpec{Parallelism: new(int32(50)), PodReplacementPolicy: new(batchv1.Failed)}, Status: batchv1.JobStatus{
			Terminating: new(int32(40)),
		}}, version: "batch/v1", kind: "Job", want: 7},
		"a Job with a policy of failures": {owner: &batchv1.Job{ObjectMeta: meta, Spec: batchv1.JobSpec{Parallelism: new(int32(50)), PodFailurePolicy: &batchv1.PodFailurePolicy{}}, Status: batchv1.JobStatus{
			Terminating: new(int32(40)),
		}}, version: "batch/v1", kind: "Job", want: 7},
		"a Job whose pods are replaced at once": {owner: &batchv1.Job{ObjectMeta: meta, Spec: batchv1.JobSpec{Parallelism: new(int32(50)), PodReplacementPolicy: new(batchv1.TerminatingOrFailed)}, Status: batchv1.JobStatus{
			Terminating: new(int32(40)),
		}}, version: "batch/v1", kind: "Job", want: 47},
		"a Job that is suspended":             jobOf(meta, func(j *batchv1.Job) { j.Spec.Suspend = new(true) }, -3),
		"a Job that is not":                   jobOf(meta, func(j *batchv1.Job) { j.Spec.Suspend = new(false) }, 47),
		"a Job that has met its criteria":     jobOf(meta, condition(batchv1.JobSuccessCriteriaMet, "True"), -3),
		"a Job that is to fail":               jobOf(meta, condition(batchv1.JobFailureTarget, "True"), -3),
		"a Job that has failed":               jobOf(meta, condition(batchv1.JobFailed, "True"), -3),
		"a Job that is complete":              jobOf(meta, condition(batchv1.JobComplete, "True"), -3),
		"a Job that has not failed":           jobOf(meta, condition(batchv1.JobFailed, "False"), 47),
		"a Job whose first pod has succeeded": jobOf(meta, func(j *batchv1.Job) { j.Status.Succeeded = 1 }, -3),
		"a kind of others":                    {version: "example.com/v1", kind: "ReplicaSet", unknown: true},
	} {
		t.Run(name, func(t *testing.T) {
			scheme := runtime.NewScheme()
			if err := clientgoscheme.AddToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			b := fake.NewClientBuilder().WithScheme(scheme)
			if tt.owner != nil {
				b = b.WithObjects(tt.owner)
			}
			if tt.uid == "" {
				tt.uid = "u"
			}
			o := &Owners{Reader: b.Build(), Settled: func(types.UID) int { return 3 }, Now: time.Now}
			n, ok := o.Missing(t.Context(), cache.Owner{APIVersion: tt.version, Kind: tt.kind, Namespace: "ns", Name: "web", UID: tt.uid})
			if ok == tt.unknown || ok && n != tt.want {
				t.Errorf("%d, %v; want %d, %v", n, ok, tt.want, !tt.unknown)
			}
		})
	}
}
