package cache

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/state/intake"
	"github.com/kerf-sh/kerf/internal/state/reservation"
)

// broken is a cache in which reading some pods and nodes panics.
type broken struct {
	*Cache
	now   time.Time
	names map[string]bool
	told  []string
	reads int
}

func newBroken() *broken {
	b := &broken{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), names: map[string]bool{}}
	b.Cache = New(Options{Now: func() time.Time { return b.now }, Failed: func(o client.Object, err error) { b.told = append(b.told, o.GetName()) }})
	class, unit := b.classOf, b.unitOf
	b.classOf = func(p *corev1.Pod, l intake.Lookup) *cluster.Class {
		// What is left of a pod without its demands has no labels.
		if b.names[p.Name] && p.Labels != nil {
			b.reads++
			panic("planted in pod " + p.Name)
		}
		return class(p, l)
	}
	b.unitOf = func(u reservation.Unit) *cluster.Node {
		if b.names[string(u[2:])] {
			b.reads++
			panic("planted in node " + string(u))
		}
		return unit(u)
	}
	return b
}

func (b *broken) pod(name, node string, version int) {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name), ResourceVersion: fmt.Sprint(version), Labels: map[string]string{"app": name}}}
	p.Spec.NodeName = node
	p.Spec.Containers = []corev1.Container{{Name: "a", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("1")}}}}
	p.Status.Phase = corev1.PodPending
	if node == "" {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}
	}
	b.SetPod(p)
}

func (b *broken) node(name string, version int, cpu string) {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), ResourceVersion: fmt.Sprint(version)}}
	n.Status.Allocatable = corev1.ResourceList{"cpu": resource.MustParse(cpu), "pods": resource.MustParse("10")}
	b.SetNode(n)
}

func (b *broken) nodeNow(t *testing.T, name string) *cluster.Node {
	t.Helper()
	for _, n := range b.Snapshot().Nodes {
		if n.Name == name {
			return n
		}
	}
	return nil
}

func TestAPodThatCanNotBeReadIsSetAside(t *testing.T) {
	b := newBroken()
	b.names["bad"] = true
	b.pod("good", "", 1)
	b.pod("bad", "", 1)
	if s := b.Snapshot(); len(s.Pending) != 1 || s.Pending[0].Name != "good" || fmt.Sprint(b.told) != "[bad]" {
		t.Fatalf("%d pods pending, told %v", len(s.Pending), b.told)
	}
	// It is tried again with pauses that double, and each try is told.
	for range 100 {
		b.now = b.now.Add(time.Second)
		b.Snapshot()
	}
	if b.reads < 5 || b.reads > 8 || len(b.told) != b.reads {
		t.Errorf("read %d times in 100 seconds, told %d times", b.reads, len(b.told))
	}
	delete(b.names, "bad")
	b.now = b.now.Add(mostPause)
	if s := b.Snapshot(); len(s.Pending) != 2 {
		t.Errorf("once it can be read %d pods are pending", len(s.Pending))
	}
	if len(b.aside) != 0 {
		t.Errorf("still aside: %v", b.aside)
	}
}

func TestAPodOnANodeThatCanNotBeReadHoldsItsNode(t *testing.T) {
	b := newBroken()
	b.names["bad"] = true
	b.node("n", 1, "4")
	b.pod("bad", "n", 1)
	n := b.nodeNow(t, "n")
	if n == nil || len(n.Pods) != 1 || n.Used.String() == "" {
		t.Fatalf("node %+v", n)
	}
	if held := b.DisruptionConstraints().Nodes["n"].Held; held != "ns/bad" {
		t.Errorf("held by %q", held)
	}
}

func TestANodeThatCanNotBeReadStaysAsItWas(t *testing.T) {
	b := newBroken()
	b.node("n", 1, "4")
	b.node("other", 1, "4")
	if n := b.nodeNow(t, "n"); n == nil || n.DoNotDisrupt {
		t.Fatalf("node %+v", n)
	}
	b.names["n"] = true
	b.node("n", 2, "8")
	b.node("other", 2, "8")
	n, other := b.nodeNow(t, "n"), b.nodeNow(t, "other")
	if n == nil || !n.DoNotDisrupt || n.Allocatable.String() == other.Allocatable.String() {
		t.Errorf("the node that can't be read: %+v; the other: %+v", n, other)
	}
	delete(b.names, "n")
	b.now = b.now.Add(mostPause)
	if n := b.nodeNow(t, "n"); n.DoNotDisrupt || n.Allocatable.String() != other.Allocatable.String() {
		t.Errorf("once it can be read: %+v", n)
	}
}
