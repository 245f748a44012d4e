package cache

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestWhichPodsOfAnOwnerAreSettled(t *testing.T) {
	c := New(Options{})
	version := 0
	set := func(name string, edit func(*corev1.Pod)) *corev1.Pod {
		version++
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name), ResourceVersion: string(rune('0' + version)), OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "web", Controller: new(true),
		}}}}
		edit(p)
		c.SetPod(p)
		return p
	}
	refused := func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}
	}
	bound := func(p *corev1.Pod) { p.Spec.NodeName = "n" }
	expect := func(when string, want int) {
		t.Helper()
		if got := c.Settled("web"); got != want {
			t.Errorf("%s: %d, want %d", when, got, want)
		}
	}
	var told []Change
	c.Listen(func(x Change) { told = append(told, x) })
	set("a", func(*corev1.Pod) {})
	expect("the scheduler has not tried it", 0)
	set("a", refused)
	expect("it waits", 1)
	if want := (Change{Kind: PodPending, Name: "a", Owner: Owner{"apps/v1", "ReplicaSet", "ns", "web", "web"}}); len(told) == 0 || told[len(told)-1] != want {
		t.Errorf("told %+v, want %+v", told, want)
	}
	set("a", bound)
	expect("it is bound", 1)
	b := set("b", refused)
	expect("another waits", 2)
	set("a", func(p *corev1.Pod) { bound(p); p.DeletionTimestamp = new(metav1.Now()) })
	expect("the first goes", 1)
	c.RemovePod(b)
	expect("the other is gone", 0)
	if len(c.settled) != 0 {
		t.Errorf("kept for nobody: %v", c.settled)
	}
}
