package cache

import (
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

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

// TestWhoseClassesAreMadeAgain: those of pods that belong to what changed, not those of the namespace. They get the class that they have
// in a cache that has known nothing else.
func TestWhoseClassesAreMadeAgain(t *testing.T) {
	options := Options{DefaultSpreads: []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule}}}
	c := New(options)
	var read []string
	classOf := c.classOf
	c.classOf = func(p *corev1.Pod, l intake.Lookup) *cluster.Class {
		read = append(read, p.Name)
		return classOf(p, l)
	}
	// Keys of labels are part of the classes once a selector has them: those of this pod's are known from the start on.
	pods := []*corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "keys", UID: "keys", ResourceVersion: "1"}, Spec: corev1.PodSpec{
		TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "none", "hash": "none"}}}}}}}
	for _, app := range []string{"web", "db", "set"} {
		for _, hash := range []string{"1", "2"} {
			kind := "ReplicaSet"
			if app == "set" {
				kind = "StatefulSet"
			}
			pods = append(pods, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: app + hash, UID: types.UID(app + hash), ResourceVersion: "1", Labels: map[string]string{"app": app, "hash": hash},
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: app + "-" + hash, Controller: new(true)}}}})
		}
	}
	for _, p := range pods {
		c.SetPod(p)
	}
	service := func(name string, selector map[string]string) *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Spec: corev1.ServiceSpec{Selector: selector}}
	}
	replicaSet := func(name, hash string) *appsv1.ReplicaSet {
		return &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Spec: appsv1.ReplicaSetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"hash": hash}}}}
	}
	statefulSet := func(name, app string) *appsv1.StatefulSet {
		return &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Spec: appsv1.StatefulSetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}}}
	}
	elsewhere := service("a", map[string]string{"app": "web"})
	elsewhere.Namespace = "other"
	there := map[string]client.Object{} // by kind, namespace and name
	change := func(o client.Object, keep bool) {
		key := fmt.Sprintf("%T %s/%s", o, o.GetNamespace(), o.GetName())
		if there[key] = o; !keep {
			delete(there, key)
		}
		applySelector(c, o, keep)
	}
	c.Snapshot()
	for _, step := range []struct {
		what string
		o    client.Object
		keep bool
		want []string
	}{
		{"a Service", service("a", map[string]string{"app": "web"}), true, []string{"web1", "web2"}},
		{"one that selects one of these", service("b", map[string]string{"app": "web", "hash": "1"}), true, []string{"web1"}},
		{"a ReplicaSet", replicaSet("db-1", "1"), true, []string{"db1"}},
		{"another", replicaSet("db-2", "2"), true, []string{"db2"}},
		{"the same again", replicaSet("db-2", "2"), true, nil},
		{"a ReplicaSet without pods", replicaSet("db-3", "3"), true, nil},
		{"a ReplicaSet goes", replicaSet("db-2", "2"), false, []string{"db2"}},
		{"it is there again, with another selector", replicaSet("db-2", "1"), true, []string{"db2"}},
		{"and goes", replicaSet("db-2", "1"), false, []string{"db2"}},
		{"a ReplicaSet of a StatefulSet's name", replicaSet("set-1", "1"), true, nil},
		{"a StatefulSet", statefulSet("set-1", "set"), true, []string{"set1"}},
		{"the ReplicaSet of its name goes", replicaSet("set-1", "1"), false, nil},
		{"a Service of some of each", service("c", map[string]string{"hash": "2"}), true, []string{"db2", "set2", "web2"}},
		{"it selects others", service("c", map[string]string{"app": "db", "hash": "1"}), true, []string{"db1", "db2", "set2", "web2"}},
		{"the same once more", service("c", map[string]string{"app": "db", "hash": "1"}), true, nil},
		{"it selects none", service("c", nil), true, []string{"db1"}},
		{"a Service goes", service("b", nil), false, []string{"web1"}},
		{"another namespace", elsewhere, true, nil},
		{"the StatefulSet goes", statefulSet("set-1", "set"), false, []string{"set1"}},
		{"the last Service of the pods goes", service("a", nil), false, []string{"web1", "web2"}},
		{"the last ReplicaSet with pods goes", replicaSet("db-1", "1"), false, []string{"db1"}},
		{"the last ReplicaSet goes", replicaSet("db-3", "3"), false, nil},
		{"that of the other namespace goes", elsewhere, false, nil},
	} {
		change(step.o, step.keep)
		read = nil
		c.Snapshot()
		if slices.Sort(read); !slices.Equal(read, step.want) {
			t.Errorf("%s: the classes of %v are made again, want %v", step.what, read, step.want)
		}
		fresh := New(options)
		for _, o := range there {
			applySelector(fresh, o, true)
		}
		for _, p := range pods {
			fresh.SetPod(p)
		}
		fresh.Snapshot()
		for key, e := range c.entries {
			if want := fresh.entries[key].pod.Class; e.pod.Class.ID != want.ID {
				t.Errorf("%s: pod %s has not the class that it would be given now: %s, %s", step.what, key, fmt.Sprint(e.pod.Class.Spreads), fmt.Sprint(want.Spreads))
			}
		}
	}
	if b := c.spreads; len(b.services)+len(b.controllers) > 0 {
		t.Errorf("nothing is there, and kept are %v and %v", b.services, b.controllers)
	}
}

// applySelector has a cache take in what has a selector, or that it is gone.
func applySelector(c *Cache, o client.Object, keep bool) {
	switch o := o.(type) {
	case *corev1.Service:
		if keep {
			c.SetService(o)
		} else {
			c.RemoveService(o)
		}
	case *appsv1.ReplicaSet:
		if keep {
			c.SetReplicaSet(o)
		} else {
			c.RemoveReplicaSet(o)
		}
	case *appsv1.StatefulSet:
		if keep {
			c.SetStatefulSet(o)
		} else {
			c.RemoveStatefulSet(o)
		}
	}
}
