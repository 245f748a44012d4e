package provision

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kerf-sh/kerf/internal/state/cache"
)

func TestHowManyPodsOfAnOwnerAreToCome(t *testing.T) {
	meta := metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "u"}
	for name, tt := range map[string]struct {
		owner   client.Object
		version string
		kind    string
		uid     types.UID
		want    int
		unknown bool
	}{
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
		"a kind of others": {version: "example.com/v1", kind: "ReplicaSet", unknown: true},
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
