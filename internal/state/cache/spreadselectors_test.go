package cache

import (
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/state/intake"
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

// TestWhoseClassesAreMadeAgain: those of pods that belong to what changed, not those of the namespace.
func TestWhoseClassesAreMadeAgain(t *testing.T) {
	c := New(Options{DefaultSpreads: []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule}}})
	var read []string
	classOf := c.classOf
	c.classOf = func(p *corev1.Pod, l intake.Lookup) *cluster.Class {
		read = append(read, p.Name)
		return classOf(p, l)
	}
	for _, app := range []string{"web", "db"} {
		for _, hash := range []string{"1", "2"} {
			c.SetPod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: app + hash, UID: types.UID(app + hash), ResourceVersion: "1", Labels: map[string]string{"app": app, "hash": hash},
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: app + "-" + hash, Controller: new(true)}}}})
		}
	}
	service := func(name string, selector map[string]string) *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Spec: corev1.ServiceSpec{Selector: selector}}
	}
	replicaSet := func(name, hash string) *appsv1.ReplicaSet {
		return &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Spec: appsv1.ReplicaSetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"hash": hash}}}}
	}
	c.Snapshot()
	c.SetService(service("a", map[string]string{"app": "web"}))
	c.SetService(service("b", map[string]string{"app": "web", "hash": "1"}))
	c.SetReplicaSet(replicaSet("db-1", "1")) // the keys of labels are known from here on
	c.Snapshot()
	for _, step := range []struct {
		what   string
		change func()
		want   []string
	}{
		{"nothing", func() {}, nil},
		{"a ReplicaSet", func() { c.SetReplicaSet(replicaSet("db-2", "2")) }, []string{"db2"}},
		{"the same again", func() { c.SetReplicaSet(replicaSet("db-2", "2")) }, nil},
		{"a ReplicaSet without pods", func() { c.SetReplicaSet(replicaSet("db-3", "3")) }, nil},
		{"a ReplicaSet goes", func() { c.RemoveReplicaSet(replicaSet("db-2", "2")) }, []string{"db2"}},
		{"a Service", func() { c.SetService(service("c", map[string]string{"hash": "2"})) }, []string{"db2", "web2"}},
		{"it selects others", func() { c.SetService(service("c", map[string]string{"app": "db", "hash": "1"})) }, []string{"db1", "db2", "web2"}},
		{"the same once more", func() { c.SetService(service("c", map[string]string{"app": "db", "hash": "1"})) }, nil},
		{"it selects none", func() { c.SetService(service("c", nil)) }, []string{"db1"}},
		{"a Service goes", func() { c.RemoveService(service("b", nil)) }, []string{"web1"}},
		{"another namespace", func() {
			s := service("a", map[string]string{"app": "web"})
			s.Namespace = "other"
			c.SetService(s)
		}, nil},
	} {
		step.change()
		read = nil
		c.Snapshot()
		if slices.Sort(read); !slices.Equal(read, step.want) {
			t.Errorf("%s: the classes of %v are made again, want %v", step.what, read, step.want)
		}
		for key, e := range c.entries {
			if want := classOf(e.obj, lookup{c}); e.pod.Class.ID != want.ID {
				t.Errorf("%s: pod %s has not the class that it would be given now: %s, %s", step.what, key, fmt.Sprint(e.pod.Class.Spreads), fmt.Sprint(want.Spreads))
			}
		}
	}
}
