package cache

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
)

func TestDefaultSpreadsFollowServicesAndControllers(t *testing.T) {
	c := New(Options{DefaultSpreads: []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule}}})
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web-1", UID: "u", ResourceVersion: "1", Labels: map[string]string{"app": "web", "hash": "7"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-7", Controller: new(true)}}},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}}}
	c.SetPod(pod)
	spreads := func() []cluster.Spread { return c.Snapshot().Pending[0].Class.Spreads }
	if got := spreads(); len(got) != 0 {
		t.Fatalf("before anything is known of what the pod belongs to: %+v", got)
	}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web"}, Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "web"}}}
	c.SetService(service)
	c.SetService(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "other"}, Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "db"}}})
	if got := spreads(); len(got) != 1 || len(got[0].Selector.Terms) != 1 || got[0].Selector.Terms[0].Key != "app" {
		t.Fatalf("with a Service: %+v", got)
	}
	c.SetReplicaSet(&appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web-7"},
		Spec: appsv1.ReplicaSetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"hash": "7"}}}})
	if got := spreads(); len(got) != 1 || len(got[0].Selector.Terms) != 2 {
		t.Fatalf("with a Service and a ReplicaSet: %+v", got)
	}
	if got := c.Snapshot().Pending[0].Class.Labels; got["app"] != "web" || got["hash"] != "7" {
		t.Fatalf("labels that the selector asks for are not in the class: %v", got)
	}
	c.RemoveService(service)
	if got := spreads(); len(got) != 1 || len(got[0].Selector.Terms) != 1 || got[0].Selector.Terms[0].Key != "hash" {
		t.Fatalf("with a ReplicaSet alone: %+v", got)
	}
}
