package cache

import (
	"fmt"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/guard"
	"github.com/kerf-sh/kerf/internal/state/intake"
	"github.com/kerf-sh/kerf/internal/state/reservation"
)

// broken is a cache in which reading some pods, nodes and DaemonSets panics.
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
	class, unit, daemon := b.classOf, b.unitOf, b.daemonOf
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
	b.daemonOf = func(ds *appsv1.DaemonSet, newest *corev1.Pod) (cluster.Daemon, bool) {
		if b.names[ds.Name] {
			b.reads++
			panic("planted in DaemonSet " + ds.Name)
		}
		return daemon(ds, newest)
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

func (b *broken) daemonSet(name string, version int, cpu string) {
	ds := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name), ResourceVersion: fmt.Sprint(version), Generation: int64(version)}}
	ds.Spec.Template.Spec.Containers = []corev1.Container{{Name: "a", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse(cpu)}}}}
	b.SetDaemonSet(ds)
}

// daemonsNow are the DaemonSets of a snapshot with what their pods request.
func (b *broken) daemonsNow() (out []string) {
	for _, d := range b.Snapshot().Daemons {
		out = append(out, d.Name+" "+d.Class.Requests.String())
	}
	return out
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

func TestAPodThatGoesFromADeletedNodeThatCanNotBeReadIsNotPending(t *testing.T) {
	b := newBroken()
	deleted := func(version int, cpu string) {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "n", ResourceVersion: fmt.Sprint(version), DeletionTimestamp: &metav1.Time{Time: b.now}}}
		n.Status.Allocatable = corev1.ResourceList{"cpu": resource.MustParse(cpu), "pods": resource.MustParse("10")}
		b.SetNode(n)
	}
	pending := func(want ...string) {
		t.Helper()
		var got []string
		for _, p := range b.Snapshot().Pending {
			got = append(got, p.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%v are pending, want %v", got, want)
		}
	}
	deleted(1, "4")
	b.pod("p", "n", 1)
	b.pod("q", "n", 1)
	pending("p", "q")
	b.names["n"] = true
	deleted(2, "8")
	pending("p", "q")
	b.RemovePod(b.pods.get("ns", "p"))
	pending("q")
}

// What a snapshot that panics has made by then is in the next one.
func TestTheSnapshotAfterOneThatPanickedHasAllThatIsThere(t *testing.T) {
	b := newBroken()
	b.node("old", 1, "4")
	b.node("stays", 1, "4")
	b.pod("waits", "", 1)
	b.daemonSet("old", 1, "1")
	before := b.Snapshot().Generation
	b.RemoveNode(b.nodes.get("", "old"))
	b.node("stays", 2, "8")
	b.node("new", 1, "4")
	b.SetNamespace(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns", UID: "ns", ResourceVersion: "1", Labels: map[string]string{"a": "b"}}})
	b.RemoveDaemonSet(b.daemonSets.get("ns", "old"))
	b.daemonSet("new", 1, "1")
	b.pod("late", "", 1)
	key := types.NamespacedName{Name: "planted"}
	b.waiting[key] = &entry{} // of no pod
	if err := guard.Catch("test", func() error { b.Snapshot(); return nil }); err == nil {
		t.Fatal("nothing panicked")
	}
	delete(b.waiting, key)
	s := b.Snapshot()
	var names []string
	for _, n := range s.Nodes {
		names = append(names, n.Name+" "+n.Allocatable.String())
	}
	want := []string{"new " + b.units["n/new"].Allocatable.String(), "stays " + b.units["n/stays"].Allocatable.String()}
	if !slices.Equal(names, want) || len(s.Pending) != 2 || len(s.Daemons) != 1 || s.Daemons[0].Name != "ns/new" || s.NamespaceLabels["ns"]["a"] != "b" || s.Generation <= before {
		t.Errorf("nodes %v, want %v; %d pods pending, daemons %+v, labels %v, generation %d after %d", names, want, len(s.Pending), s.Daemons, s.NamespaceLabels, s.Generation, before)
	}
	if again := b.Snapshot(); again != s {
		t.Error("a snapshot of the same is another one")
	}
}

func TestADaemonSetThatCanNotBeReadStaysAsItWas(t *testing.T) {
	b := newBroken()
	b.daemonSet("bad", 1, "1")
	b.daemonSet("good", 1, "1")
	before := b.daemonsNow()
	b.names["bad"], b.names["never"] = true, true
	b.daemonSet("bad", 2, "2")
	b.daemonSet("never", 1, "2")
	b.daemonSet("good", 2, "2")
	b.node("n", 1, "4")
	got := b.daemonsNow()
	slices.Sort(b.told)
	if len(before) != 2 || len(got) != 2 || got[0] != before[0] || got[1] == before[1] || fmt.Sprint(b.told) != "[bad never]" || b.nodeNow(t, "n") == nil {
		t.Errorf("%q, then %q; told %v", before, got, b.told)
	}
	b.daemonSet("bad", 3, "2")
	b.daemonsNow()
	if b.reads != 2 {
		t.Errorf("read %d times within the pause", b.reads)
	}
	clear(b.names)
	b.now = b.now.Add(mostPause)
	if got := b.daemonsNow(); len(got) != 3 || got[0] == before[0] {
		t.Errorf("once they can be read: %q", got)
	}
	b.names["never"] = true
	b.daemonSet("never", 2, "3")
	b.Snapshot()
	b.RemoveDaemonSet(b.daemonSets.get("ns", "never"))
	if got := b.daemonsNow(); len(got) != 2 || len(b.aside) != 0 {
		t.Errorf("once it is gone: %q, aside %v", got, b.aside)
	}
}
