package cache

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// rig is a cache under a clock that tests move by hand, and what it told.
type rig struct {
	*Cache
	clock time.Time
	rv    int
	told  map[ChangeKind]int
}

func newRig() *rig {
	r := &rig{clock: time.Unix(1000, 0), told: map[ChangeKind]int{}}
	r.Cache = New(Options{Now: func() time.Time { return r.clock }})
	r.Listen(func(c Change) { r.told[c.Kind]++ })
	return r
}

func (r *rig) version(o metav1.Object) {
	r.rv++
	o.SetResourceVersion(fmt.Sprint(r.rv))
}

func (r *rig) pod(name string, edit ...func(*corev1.Pod)) cluster.PodRef {
	p := unschedulable(name, "uid-"+name)
	for _, e := range edit {
		e(p)
	}
	r.version(p)
	r.SetPod(p)
	return cluster.PodRef{Namespace: "ns", Name: name, UID: "uid-" + name}
}

func (r *rig) claim(name string, edit ...func(*karpv1.NodeClaim)) *karpv1.NodeClaim {
	c := newClaim(name, "uid-"+name)
	for _, e := range edit {
		e(c)
	}
	r.version(c)
	return c
}

func bound(node string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.NodeName, p.Status.Conditions = node, nil }
}

func (r *rig) pending() int { return len(r.Snapshot().Pending) }

func (r *rig) instance(name string) *cluster.Node {
	for _, n := range r.Snapshot().Nodes {
		if n.Name == name || n.Claim == name {
			return n
		}
	}
	return nil
}

func launch(c *karpv1.NodeClaim) {
	c.Status.ProviderID = "id-1"
	c.Status.Allocatable, c.Status.Capacity = amounts("4", "10"), amounts("4", "10")
}

// assumed is a rig with two pods given room on a claim that no watch has told of.
func assumed() (*rig, *karpv1.NodeClaim, []cluster.PodRef) {
	r := newRig()
	pods := []cluster.PodRef{r.pod("p0"), r.pod("p1")}
	claim := r.claim("c0")
	r.Assume(claim, intake.Expected{Allocatable: res.List{"cpu": 3500, "pods": 9}, Capacity: res.List{"cpu": 8000, "pods": 9}}, pods, r.clock.Add(time.Minute))
	return r, claim, pods
}

func TestAnAssumedClaimCountsAtOnce(t *testing.T) {
	r, _, _ := assumed()
	if n := r.pending(); n != 0 {
		t.Errorf("%d pods pending, want none: room is reserved for them", n)
	}
	m := r.instance("c0")
	if m == nil || len(m.Pods) != 2 || m.Used["cpu"] != 2000 || m.Allocatable["cpu"] != 3500 || m.Capacity["cpu"] != 8000 {
		t.Fatalf("instance %+v", m)
	}
}

func TestAReservationFollowsTheClaimToItsNode(t *testing.T) {
	r, claim, _ := assumed()
	launch(claim)
	r.version(claim)
	r.SetClaim(claim)
	node := newNode("n0", "uid-n0", "id-1")
	r.version(node)
	r.SetNode(node)
	if m := r.instance("c0"); m == nil || m.Name != "n0" || len(m.Pods) != 2 || len(r.Snapshot().Nodes) != 1 {
		t.Fatalf("instance %+v of %d", m, len(r.Snapshot().Nodes))
	}
	r.pod("p0", bound("n0"))
	if m := r.instance("n0"); len(m.Pods) != 2 || m.Used["cpu"] != 2000 {
		t.Errorf("a bound pod counts once: %d pods using %v", len(m.Pods), m.Used)
	}
	r.pod("p1", bound("n9"))
	if m := r.instance("n0"); len(m.Pods) != 1 {
		t.Errorf("a pod that went elsewhere gives its room back: %d pods", len(m.Pods))
	}
}

func TestHowReservationsEnd(t *testing.T) {
	for name, tt := range map[string]struct {
		do           func(r *rig, claim *karpv1.NodeClaim)
		wantPending  int
		wantInstance bool
	}{
		"the claim is deleted":                             {func(r *rig, claim *karpv1.NodeClaim) { r.SetClaim(claim); r.version(claim); r.RemoveClaim(claim) }, 2, false},
		"the claim's deletion is seen, its creation never": {func(r *rig, claim *karpv1.NodeClaim) { r.version(claim); r.RemoveClaim(claim) }, 2, false},
		"the claim is going": {func(r *rig, claim *karpv1.NodeClaim) {
			gone := claim.DeepCopy()
			gone.DeletionTimestamp = new(metav1.Now())
			r.version(gone)
			r.SetClaim(gone)
		}, 2, true},
		"no watch confirms the claim in time":                  {func(r *rig, _ *karpv1.NodeClaim) { r.clock = r.clock.Add(time.Minute) }, 2, false},
		"the claim is confirmed, but the pods are never bound": {func(r *rig, claim *karpv1.NodeClaim) { r.SetClaim(claim); r.clock = r.clock.Add(time.Minute) }, 2, true},
		"a slow launch ends nothing":                           {func(r *rig, claim *karpv1.NodeClaim) { r.SetClaim(claim); r.clock = r.clock.Add(59 * time.Second) }, 0, true},
		"a pod is deleted": {func(r *rig, _ *karpv1.NodeClaim) {
			p := unschedulable("p0", "uid-p0")
			r.version(p)
			r.RemovePod(p)
		}, 0, true},
		"a pod is born again under its name": {func(r *rig, _ *karpv1.NodeClaim) {
			p := unschedulable("p0", "uid-other")
			r.version(p)
			r.SetPod(p)
		}, 1, true},
		"the node is ready and nobody binds": {func(r *rig, claim *karpv1.NodeClaim) {
			claim = claim.DeepCopy()
			launch(claim)
			r.version(claim)
			r.SetClaim(claim)
			node := newNode("n0", "uid-n0", "id-1")
			node.Labels = map[string]string{karpv1.NodeRegisteredLabelKey: "true", karpv1.NodeInitializedLabelKey: "true"}
			node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
			r.version(node)
			r.SetNode(node)
			r.Snapshot()
			r.clock = r.clock.Add(DefaultBindGrace)
		}, 2, true},
	} {
		t.Run(name, func(t *testing.T) {
			r, claim, _ := assumed()
			r.Snapshot()
			before := r.told[PodPending]
			tt.do(r, claim)
			if n := r.pending(); n != tt.wantPending {
				t.Errorf("%d pods pending, want %d", n, tt.wantPending)
			}
			if got := r.instance("c0") != nil; got != tt.wantInstance {
				t.Errorf("the instance is there: %v, want %v", got, tt.wantInstance)
			}
			if told := r.told[PodPending] - before; told != tt.wantPending {
				t.Errorf("told of %d pending pods, want %d", told, tt.wantPending)
			}
		})
	}
}

func TestAReadyInstanceAndANewRefusalEndAReservation(t *testing.T) {
	refused := func(message string) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Status.Conditions[0].Message = message }
	}
	r, claim, _ := assumed()
	r.pod("p0", refused("0/1 nodes")) // before the instance is there: the scheduler can't know of it
	if n := r.pending(); n != 0 {
		t.Fatalf("%d pods pending before the instance is ready, want none", n)
	}
	claim = claim.DeepCopy()
	launch(claim)
	r.version(claim)
	r.SetClaim(claim)
	node := newNode("n0", "uid-n0", "id-1")
	node.Labels = map[string]string{karpv1.NodeRegisteredLabelKey: "true", karpv1.NodeInitializedLabelKey: "true"}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	r.version(node)
	r.SetNode(node)
	r.Snapshot()
	r.pod("p0", refused("0/2 nodes"))
	if n := r.pending(); n != 0 {
		t.Errorf("%d pods pending: a refusal in the moment in which the instance came counts for nothing", n)
	}
	r.clock = r.clock.Add(2 * time.Second)
	r.pod("p0", refused("0/2 nodes"))
	if n := r.pending(); n != 0 {
		t.Errorf("%d pods pending: the same words again are no new refusal", n)
	}
	r.pod("p0", refused("0/3 nodes"))
	if n := r.pending(); n != 1 {
		t.Errorf("%d pods pending, want the refused one", n)
	}
}

func TestRoomThatAnotherPodTookEndsAReservation(t *testing.T) {
	r, claim, _ := assumed() // p0 and p1, one core each, are reserved for c0
	claim = claim.DeepCopy()
	launch(claim)
	r.version(claim)
	r.SetClaim(claim)
	node := newNode("n0", "uid-n0", "id-1")
	node.Labels = map[string]string{karpv1.NodeRegisteredLabelKey: "true", karpv1.NodeInitializedLabelKey: "true"}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	node.Status.Allocatable, node.Status.Capacity = amounts("2", "10"), amounts("2", "10")
	r.version(node)
	r.SetNode(node)
	r.Snapshot()
	before := r.told[PodPending]
	r.pod("p0", bound("n0"))
	if n := r.pending(); n != 0 {
		t.Fatalf("%d pods pending: what was reserved is kept", n)
	}
	r.pod("stranger", bound("n0"))
	if told := r.told[PodPending] - before; told != 1 {
		t.Errorf("told of %d pending pods, want 1, and without being asked for a snapshot", told)
	}
	if n := r.pending(); n != 1 {
		t.Errorf("%d pods pending, want p1: the stranger has its place", n)
	}
	if m := r.instance("n0"); m.Used["cpu"] != 2000 {
		t.Errorf("the instance has %v, its pods use %v; %+v", m.Allocatable, m.Used, m.Initialized)
	}
}

func TestPodsOfALeavingNodeArePendingUntilAPlaceIsReserved(t *testing.T) {
	r := newRig()
	node := newNode("n0", "uid-n0", "")
	r.version(node)
	r.SetNode(node)
	ref := r.pod("p0", bound("n0"))
	r.pod("held", bound("n0"), func(p *corev1.Pod) { p.Annotations = map[string]string{karpv1.DoNotDisruptAnnotationKey: "true"} })
	if r.pending() != 0 {
		t.Fatal("nothing is pending yet")
	}
	node = node.DeepCopy()
	node.DeletionTimestamp = new(metav1.Now())
	r.version(node)
	r.SetNode(node)
	if s := r.Snapshot(); len(s.Pending) != 1 || s.Pending[0].PodRef != ref {
		t.Fatalf("pending %v, want the pod that may be moved", s.Pending)
	}
	r.Assume(r.claim("c0"), intake.Expected{}, []cluster.PodRef{ref}, r.clock.Add(time.Minute))
	if r.pending() != 0 || len(r.instance("c0").Pods) != 1 || len(r.instance("n0").Pods) != 2 {
		t.Errorf("%d pending, %d pods on the new instance, %d on the old", r.pending(), len(r.instance("c0").Pods), len(r.instance("n0").Pods))
	}
	r.pod("p0", bound("n0"), func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.Now()) })
	if len(r.instance("c0").Pods) != 0 {
		t.Error("an evicted pod makes room for its successor")
	}
}

func TestNominationToAnExistingNode(t *testing.T) {
	r := newRig()
	node := newNode("n0", "uid-n0", "")
	r.version(node)
	r.SetNode(node)
	ref := r.pod("p0")
	r.Reserve(r.instance("n0"), []cluster.PodRef{ref}, r.clock.Add(20*time.Second))
	if r.pending() != 0 || len(r.instance("n0").Pods) != 1 {
		t.Errorf("%d pending, %d pods on the node", r.pending(), len(r.instance("n0").Pods))
	}
	r.clock = r.clock.Add(20 * time.Second)
	if r.pending() != 1 || len(r.instance("n0").Pods) != 0 {
		t.Errorf("after the time is up: %d pending, %d pods on the node", r.pending(), len(r.instance("n0").Pods))
	}
}

// TestHowLongRoomIsKeptOnANodeThatIsReadySinceTheDecision: what becomes ready between the snapshot and the reservation was not ready in
// the eyes of whoever asks for the long time.
func TestHowLongRoomIsKeptOnANodeThatIsReadySinceTheDecision(t *testing.T) {
	for name, tc := range map[string]struct {
		ready, seen bool // before the reservation
		leaving     bool // the pod runs on a node that is to go
		kept        time.Duration
	}{
		"not ready":                            {kept: 20 * time.Minute},
		"ready":                                {ready: true, kept: DefaultBindGrace},
		"ready, and a snapshot was made of it": {ready: true, seen: true, kept: DefaultBindGrace},
		"for a pod that runs until its replacement is there": {ready: true, seen: true, leaving: true, kept: 20 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig()
			claim := r.claim("c0", launch)
			r.SetClaim(claim)
			node := newNode("n0", "uid-n0", "id-1")
			r.version(node)
			r.SetNode(node)
			var edit []func(*corev1.Pod)
			if tc.leaving {
				from := newNode("n1", "uid-n1", "")
				from.Annotations = map[string]string{intake.DisruptingAnnotation: "Underutilized"}
				r.version(from)
				r.SetNode(from)
				edit = append(edit, bound("n1"))
			}
			ref := r.pod("p0", edit...)
			decided := r.instance("n0")
			if tc.ready {
				node = node.DeepCopy()
				node.Labels = map[string]string{karpv1.NodeRegisteredLabelKey: "true", karpv1.NodeInitializedLabelKey: "true"}
				node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
				r.version(node)
				r.SetNode(node)
			}
			if tc.seen {
				r.Snapshot()
			}
			r.Reserve(decided, []cluster.PodRef{ref}, r.clock.Add(20*time.Minute))
			r.Snapshot()
			r.clock = r.clock.Add(tc.kept - time.Second)
			if n := len(r.instance("n0").Pods); n != 1 {
				t.Errorf("%d pods on the node a second before the end, want 1", n)
			}
			r.clock = r.clock.Add(time.Second)
			if n := len(r.instance("n0").Pods); n != 0 {
				t.Errorf("%d pods on the node at the end, want none", n)
			}
		})
	}
}

func TestASnapshotCostsWhatChanged(t *testing.T) {
	r := newRig()
	for i := range 100 {
		n := newNode(fmt.Sprint("n", i), fmt.Sprint("u", i), "")
		r.version(n)
		r.SetNode(n)
		r.pod(fmt.Sprint("p", i), bound(n.Name))
	}
	a := r.Snapshot()
	r.pod("extra", bound("n7"))
	b := r.Snapshot()
	changed := 0
	for i := range a.Nodes {
		if a.Nodes[i] != b.Nodes[i] {
			changed++
		}
	}
	if changed != 1 || b.Generation != a.Generation+1 {
		t.Errorf("%d nodes changed their pointer, generation %d after %d", changed, b.Generation, a.Generation)
	}
	// A heartbeat is not a change.
	n := newNode("n3", "u3", "")
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, LastHeartbeatTime: metav1.Now()}}
	r.version(n)
	r.SetNode(n)
	if c := r.Snapshot(); c != b {
		t.Error("a heartbeat made a new snapshot")
	}
}

func TestALabelComesIntoSightOfOlderPods(t *testing.T) {
	r := newRig()
	r.pod("db", func(p *corev1.Pod) { p.Labels = map[string]string{"app": "db"} })
	if l := r.Snapshot().Pending[0].Class.Labels; len(l) != 0 {
		t.Fatalf("labels %v", l)
	}
	r.pod("web", func(p *corev1.Pod) {
		p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{TopologyKey: "zone", MaxSkew: 1, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}}}
	})
	if l := r.Snapshot().Pending[0].Class.Labels; l["app"] != "db" {
		t.Errorf("labels %v, want app=db: a selector looks at the key now", l)
	}
}

func BenchmarkSnapshotAfterOneChange(b *testing.B) {
	r := newRig()
	for i := range 1000 {
		n := newNode(fmt.Sprint("n", i), fmt.Sprint("u", i), "")
		r.version(n)
		r.SetNode(n)
		for j := range 20 {
			r.pod(fmt.Sprint("p", i, "-", j), bound(n.Name))
		}
	}
	r.Snapshot()
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		i++
		p := unschedulable("p7-3", "uid-p7-3")
		p.Spec.NodeName = "n7"
		if i%2 == 0 {
			p.DeletionTimestamp = new(metav1.Now())
		}
		r.version(p)
		r.SetPod(p)
		r.Snapshot()
	}
}
