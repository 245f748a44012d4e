package cache

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// apartBy is a pod that wants no other with its label on its node.
func apartBy(name, key string) *corev1.Pod {
	p := unschedulable(name, name)
	p.Labels = map[string]string{key: "x"}
	p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{key: "x"}},
		}},
	}}
	return p
}

// A Job that gives the pods of each run a label key of their own leaves no key behind, and the keys that others ask for stay
// in sight.
func TestLabelKeysThatNobodyAsksForAreForgotten(t *testing.T) {
	c := New(Options{})
	lasting := apartBy("lasting", "app")
	c.SetPod(lasting)
	for i := range 10_000 {
		p := apartBy(fmt.Sprint("run-", i), fmt.Sprint("run/", i))
		c.SetPod(p)
		c.Snapshot()
		c.RemovePod(p)
	}
	if n := c.compiler.Keys(); n > 2*spareKeys {
		t.Errorf("%d label keys are kept, and one is asked for", n)
	}
	other := unschedulable("other", "other")
	other.Labels = map[string]string{"app": "x", "gone": "y"}
	c.SetPod(other)
	for _, p := range c.Snapshot().Pending {
		if want := map[string]string{"app": "x"}; fmt.Sprint(p.Class.Labels) != fmt.Sprint(want) {
			t.Errorf("%s has the labels %v, want %v", p.Name, p.Class.Labels, want)
		}
	}
}

// A label key that comes into sight costs what the pods with such a label cost, not what all pods do.
func TestAKeyThatComesIntoSightTouchesThePodsThatHaveIt(t *testing.T) {
	c := New(Options{})
	for i := range 1000 {
		p := unschedulable(fmt.Sprint("p", i), fmt.Sprint("p", i))
		p.Labels = map[string]string{"app": "web"}
		c.SetPod(p)
	}
	c.Snapshot()
	asked := 0
	classOf := c.classOf
	c.classOf = func(pod *corev1.Pod, look intake.Lookup) *cluster.Class { asked++; return classOf(pod, look) }
	c.SetPod(apartBy("one", "other"))
	c.Snapshot()
	if asked > 3 {
		t.Errorf("the classes of %d pods were asked for, and one has the label", asked)
	}
}

// Keys that templates alone ask for count against the bound after each search: every snapshot searches again.
func TestKeysOfTemplatesDoNotMakeEverySnapshotSearch(t *testing.T) {
	c := New(Options{})
	for i := range 600 {
		p := apartBy("x", fmt.Sprint("ds/", i))
		c.SetDaemonSet(&appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "d", Name: fmt.Sprint("ds", i), UID: "u"},
			Spec: appsv1.DaemonSetSpec{Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: p.Labels}, Spec: p.Spec}}})
	}
	for i := range 100 {
		q := unschedulable(fmt.Sprint("p", i), fmt.Sprint("p", i))
		q.Labels = map[string]string{"ds/1": "y"}
		c.SetPod(q)
	}
	c.Snapshot()
	c.Snapshot()
	asked := 0
	classOf := c.classOf
	c.classOf = func(pod *corev1.Pod, look intake.Lookup) *cluster.Class { asked++; return classOf(pod, look) }
	for range 10 {
		c.Snapshot()
	}
	if asked > 0 {
		t.Errorf("nothing changed, yet %d classes were made in 10 snapshots; keys %d, last %d", asked, c.compiler.Keys(), c.keys)
	}
}
