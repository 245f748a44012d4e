package cache

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/state/intake"
	"github.com/kerf-sh/kerf/internal/state/reservation"
)

func nominatedTo(node string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Status.NominatedNodeName = node }
}

// twoInstances is a rig in which p0 and p1 are given room on the claim c0, and p2, which is larger, to c1.
func twoInstances() *rig {
	return rigOfTwo(func(p *corev1.Pod) {
		p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("2")}
	})
}

func rigOfTwo(p2 ...func(*corev1.Pod)) *rig {
	r, _, _ := assumed()
	r.Assume(r.claim("c1"), intake.Expected{Allocatable: res.List{"cpu": 3500, "pods": 9}, Capacity: res.List{"cpu": 8000, "pods": 9}}, []cluster.PodRef{r.pod("p2", p2...)}, r.clock.Add(time.Minute))
	return r
}

func (r *rig) nominees(claim string) []string {
	var out []string
	for _, p := range r.Nominees(claim, "node-of-"+claim) {
		out = append(out, p.Name)
	}
	slices.Sort(out)
	return out
}

func TestPodsOfOneInstanceNeedNoNomination(t *testing.T) {
	r, _, _ := assumed()
	if got := r.nominees("c0"); len(got) > 0 {
		t.Errorf("%v are nominated, though no other instance could be taken for theirs", got)
	}
}

func TestPodsThatAreAllAlikeNeedNoNomination(t *testing.T) {
	r := rigOfTwo()
	if got := r.nominees("c0"); len(got) > 0 {
		t.Errorf("%v are nominated, though whichever of the three goes where makes no difference", got)
	}
}

func TestPodsAreNominatedToTheirInstanceOnce(t *testing.T) {
	r := twoInstances()
	if got := r.nominees("c0"); !slices.Equal(got, []string{"p0", "p1"}) {
		t.Fatalf("%v are nominated, want p0 and p1", got)
	}
	if got := r.nominees("c0"); len(got) > 0 || !r.Unseen("c0", "node-of-c0") {
		t.Errorf("%v are nominated again, before anything was seen of it; not seen: %v", got, r.Unseen("c0", "node-of-c0"))
	}
	r.pod("p0", nominatedTo("node-of-c0"))
	if !r.Unseen("c0", "node-of-c0") {
		t.Error("the nomination of p1 was seen, though no watch told of it")
	}
	r.pod("p1", nominatedTo("node-of-c0"))
	if r.Unseen("c0", "node-of-c0") {
		t.Error("the nominations were not seen, though the watch told of both")
	}
	if r.pending() != 0 || r.told[NominationLost] != 0 {
		t.Errorf("%d pods pending, told %v", r.pending(), r.told)
	}
}

func TestANominationThatIsTakenAwayIsWrittenAgainSomeTimes(t *testing.T) {
	r := twoInstances()
	r.nominees("c0")
	for n := 1; n < reservation.MostNominations; n++ {
		r.pod("p0", nominatedTo("node-of-c0"))
		r.pod("p0")
		if r.told[NominationLost] != n {
			t.Fatalf("told %d times, want %d", r.told[NominationLost], n)
		}
		if got := r.nominees("c0"); !slices.Equal(got, []string{"p0"}) {
			t.Fatalf("%v are nominated after %d losses, want p0", got, n)
		}
	}
	r.pod("p0", nominatedTo("node-of-c0"))
	r.pod("p0")
	if got := r.nominees("c0"); len(got) > 0 {
		t.Errorf("%v are nominated for the %dth time", got, reservation.MostNominations+1)
	}
}

func TestANominationThatCouldNotBeWrittenIsTriedAgain(t *testing.T) {
	r := twoInstances()
	for _, p := range r.Nominees("c0", "node-of-c0") {
		r.NotNominated(p)
	}
	if got := r.nominees("c0"); !slices.Equal(got, []string{"p0", "p1"}) {
		t.Errorf("%v are nominated, want p0 and p1", got)
	}
}

// Nobody would take their nominations away.
func TestPodsThatNeverPreemptAndThoseOfOtherSchedulersAreNotNominated(t *testing.T) {
	r := twoInstances()
	r.pod("p0", func(p *corev1.Pod) { p.Spec.PreemptionPolicy = new(corev1.PreemptNever) })
	r.pod("p1", func(p *corev1.Pod) { p.Spec.SchedulerName = "mine" })
	if got := r.nominees("c0"); len(got) > 0 {
		t.Errorf("%v are nominated", got)
	}
}

// A pod that Kerf has nominated waits like any other: when nothing comes of it, it is pending again.
func TestANominatedPodIsStillServed(t *testing.T) {
	r := twoInstances()
	r.nominees("c0")
	r.pod("p0", nominatedTo("node-of-c0"))
	r.clock = r.clock.Add(2 * time.Minute)
	if n := r.pending(); n != 3 {
		t.Errorf("%d pods pending once the reservations have ended, want all three", n)
	}
	r.pod("p0", bound("node-of-c0"))
	if n := r.reserved.Sizes().Nominations; n != 1 || len(r.Cache.nominees) != 0 {
		t.Errorf("%d nominations are remembered, want that of p1", n)
	}
}

// What a former leader has nominated looks like what the scheduler has; but that nominates only to nodes that take pods, and
// only pods that may preempt.
func TestWhoseNominationItIs(t *testing.T) {
	r := newRig()
	node := newNode("n", "uid-n", "id-n")
	node.Labels = map[string]string{karpv1.NodePoolLabelKey: "pool"}
	set := func(initialized string) {
		node = node.DeepCopy()
		node.Labels[karpv1.NodeInitializedLabelKey] = initialized
		r.version(node)
		r.SetNode(node)
	}
	want := func(when string, n int) {
		t.Helper()
		if got := r.pending(); got != n {
			t.Errorf("%s: %d pods pending, want %d", when, got, n)
		}
	}
	r.pod("p", nominatedTo("n"))
	want("the node is not there", 1)
	set("")
	want("it has joined", 1)
	set("true")
	want("it takes pods", 0)
	r.pod("q", nominatedTo("n"), func(p *corev1.Pod) { p.Spec.PreemptionPolicy = new(corev1.PreemptNever) })
	want("a pod that never preempts has come", 1)
	r.version(node)
	r.RemoveNode(node)
	want("the node is gone", 2)
}

// The scheduler says by taking a nomination away that it has tried a node in vain. Until then a pod's turn may not have come: that
// it takes long is no reason to launch something else for it.
func TestHowLongRoomIsKeptForAPodThatIsNominatedToAReadyNode(t *testing.T) {
	for name, tc := range map[string]struct {
		nominated bool
		lost      bool          // after a second
		chosen    bool          // by the scheduler, after a second
		after     time.Duration // since the node is ready
		pending   int
		there     int // pods that hold the node
	}{
		"not nominated":                       {false, false, false, DefaultBindGrace, 1, 0},
		"the scheduler has not come to it":    {true, false, false, 4 * time.Minute, 0, 1},
		"nor in five minutes":                 {true, false, false, nominatedGrace, 1, 0},
		"it was refused":                      {true, true, false, DefaultBindGrace, 0, 1},
		"it was refused, and not taken since": {true, true, false, DefaultBindGrace + time.Second, 1, 0},
		"the scheduler nominates it":          {false, false, true, DefaultBindGrace, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig()
			claim := r.claim("c0")
			r.Assume(claim, intake.Expected{Allocatable: res.List{"cpu": 3500, "pods": 9}}, []cluster.PodRef{r.pod("p0")}, r.clock.Add(time.Hour))
			r.Assume(r.claim("c1"), intake.Expected{Allocatable: res.List{"cpu": 3500, "pods": 9}}, []cluster.PodRef{r.pod("p2", func(p *corev1.Pod) {
				p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("2")}
			})}, r.clock.Add(time.Hour))
			if tc.nominated {
				for _, p := range r.Nominees("c0", "n0") {
					r.pod(p.Name, nominatedTo("n0"))
				}
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
			ready := r.clock
			if tc.lost {
				r.clock = ready.Add(time.Second)
				r.pod("p0", func(p *corev1.Pod) { p.Status.Conditions[0].Message = "0/7 nodes" })
				if r.told[NominationLost] != 1 {
					t.Errorf("told %d times that the nomination is lost", r.told[NominationLost])
				}
			}
			if tc.chosen {
				r.pod("p0", nominatedTo("n0"))
			}
			r.clock = ready.Add(tc.after)
			if n := r.pending(); n != tc.pending {
				t.Errorf("%d pods pending, want %d", n, tc.pending)
			}
			if n := len(r.instance("n0").Pods); n != tc.there {
				t.Errorf("%d pods hold the node, want %d", n, tc.there)
			}
		})
	}
}

// The scheduler nominates pods for which it ends others, and those whose volumes it waits for. They take room on their node before
// they are bound, and break no reservation: what they preempt is still there.
func TestAPodThatTheSchedulerNominatesCountsOnItsNode(t *testing.T) {
	coming := func(r *rig) (names []string) {
		for _, p := range r.instance("n0").Pods {
			if p.Node == "" {
				names = append(names, p.Name)
			}
		}
		return names
	}
	node := func(r *rig) {
		n := newNode("n0", "uid-n0", "id-1")
		n.Labels = map[string]string{karpv1.NodeRegisteredLabelKey: "true", karpv1.NodeInitializedLabelKey: "true"}
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		r.version(n)
		r.SetNode(n)
	}
	for name, tt := range map[string]struct {
		then func(r *rig, p cluster.PodRef)
		want []string
	}{
		"nominated":          {func(*rig, cluster.PodRef) {}, []string{"p"}},
		"no longer":          {func(r *rig, _ cluster.PodRef) { r.pod("p") }, nil},
		"to another node":    {func(r *rig, _ cluster.PodRef) { r.pod("p", nominatedTo("n1")) }, nil},
		"bound to another":   {func(r *rig, _ cluster.PodRef) { r.pod("p", bound("n1")) }, nil},
		"a pod of a daemon":  {func(r *rig, _ cluster.PodRef) { r.pod("p", nominatedTo("n0"), daemons) }, nil},
		"a pod that ends":    {func(r *rig, _ cluster.PodRef) { r.pod("p", nominatedTo("n0"), ends) }, nil},
		"one that is gone":   {func(r *rig, _ cluster.PodRef) { r.RemovePod(r.entries[podKey{Namespace: "ns", Name: "p"}].obj) }, nil},
		"reserved elsewhere": {func(r *rig, p cluster.PodRef) { elsewhere(r, p, time.Hour) }, nil},
		"no longer reserved": {func(r *rig, p cluster.PodRef) {
			elsewhere(r, p, time.Second)
			r.Snapshot()
			r.clock = r.clock.Add(time.Minute)
		}, []string{"p"}},
		"for almost five minutes": {func(r *rig, _ cluster.PodRef) { r.clock = r.clock.Add(nominatedGrace - time.Second) }, []string{"p"}},
		"for five minutes":        {func(r *rig, _ cluster.PodRef) { r.clock = r.clock.Add(nominatedGrace) }, nil},
		"for five minutes, and changed meanwhile": {func(r *rig, _ cluster.PodRef) {
			r.clock = r.clock.Add(time.Minute)
			r.pod("p", nominatedTo("n0"), func(p *corev1.Pod) { p.Annotations = map[string]string{"a": "b"} })
			r.Snapshot()
			r.clock = r.clock.Add(nominatedGrace - time.Minute)
		}, nil},
		"once more after a minute": {func(r *rig, _ cluster.PodRef) {
			r.clock = r.clock.Add(time.Minute)
			r.pod("p")
			r.pod("p", nominatedTo("n0"))
			r.clock = r.clock.Add(nominatedGrace - time.Minute)
		}, []string{"p"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig()
			node(r)
			p := r.pod("p", nominatedTo("n0"))
			r.Snapshot()
			tt.then(r, p)
			if got := coming(r); !slices.Equal(got, tt.want) {
				t.Errorf("%v are coming, want %v", got, tt.want)
			}
			if kept := r.Reserved("uid-p"); kept != (len(tt.want) > 0 || r.reserved.Has("uid-p")) || r.Reserved("uid-q") {
				t.Errorf("room is kept for it: %t; for another: %t", kept, r.Reserved("uid-q"))
			}
		})
	}
	t.Run("in the place of others", func(t *testing.T) {
		r := newRig()
		node(r)
		r.pod("victim", bound("n0"), func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse("3") })
		r.Reserve(r.instance("n0"), []cluster.PodRef{r.pod("q")}, r.clock.Add(time.Hour))
		r.pod("p", nominatedTo("n0"))
		if got := coming(r); !slices.Equal(got, []string{"p", "q"}) || r.pending() != 0 {
			t.Errorf("%v are coming and %d pods pending, want p and q, and none", got, r.pending())
		}
		if used := r.instance("n0").Used["cpu"]; used != 5000 {
			t.Errorf("%dm cpu are used, want 5000m", used)
		}
	})
}

func daemons(p *corev1.Pod) {
	p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "ds"}}
}

func ends(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.Unix(1000, 0)) }

func elsewhere(r *rig, p cluster.PodRef, last time.Duration) {
	r.Assume(r.claim("c9"), intake.Expected{Allocatable: res.List{"cpu": 3500, "pods": 9}}, []cluster.PodRef{p}, r.clock.Add(last))
}

// Since Kubernetes 1.35 the scheduler nominates pods to the node on which it waits for their volumes. Where none comes the node counts
// as empty after a while, and goes: without a word each decision would launch another.
func TestAPodWhoseVolumeIsNeverMadeIsMissed(t *testing.T) {
	chosen := map[string]string{"volume.kubernetes.io/selected-node": "n0"}
	for name, tt := range map[string]struct {
		claim  map[string]string // the annotations of the pod's claim
		volume string
		pod    []func(*corev1.Pod) // how the pod stands a second later
		after  time.Duration
		want   int
	}{
		"no volume comes":               {chosen, "", nil, nominatedGrace, 1},
		"it is told once":               {chosen, "", nil, 2 * nominatedGrace, 1},
		"there is time yet":             {chosen, "", nil, nominatedGrace - time.Second, 0},
		"it is made":                    {chosen, "pv", nil, nominatedGrace, 0},
		"it waits for no volume":        {nil, "", nil, nominatedGrace, 0},
		"it is to be made elsewhere":    {map[string]string{"volume.kubernetes.io/selected-node": "n1"}, "", nil, nominatedGrace, 0},
		"the nomination is taken away":  {chosen, "", []func(*corev1.Pod){uses("data")}, nominatedGrace, 0},
		"the pod is bound":              {chosen, "", []func(*corev1.Pod){uses("data"), bound("n0")}, nominatedGrace, 0},
		"it is nominated anew":          {chosen, "", []func(*corev1.Pod){uses("data"), nominatedTo("n1")}, nominatedGrace, 0},
		"it ends":                       {chosen, "", []func(*corev1.Pod){uses("data"), nominatedTo("n0"), ends}, nominatedGrace, 0},
		"it is a pod of a daemon":       {chosen, "", []func(*corev1.Pod){uses("data"), nominatedTo("n0"), daemons}, nominatedGrace, 0},
		"it never preempts, and waits":  {chosen, "", []func(*corev1.Pod){uses("data"), nominatedTo("n0"), neverPreempts}, nominatedGrace, 0},
		"it changes, and still has not": {chosen, "", []func(*corev1.Pod){uses("data"), nominatedTo("n0"), func(p *corev1.Pod) { p.Annotations = chosen }}, nominatedGrace, 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig()
			var said []string
			r.Listen(func(c Change) {
				if c.Kind == PodMissed {
					said = append(said, c.Detail)
				}
			})
			node := newNode("n0", "uid-n0", "id-1")
			node.Labels = map[string]string{karpv1.NodePoolLabelKey: "pool", karpv1.NodeInitializedLabelKey: "true"}
			r.version(node)
			r.SetNode(node)
			pvc := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "data", Annotations: tt.claim}}
			pvc.Spec.VolumeName = tt.volume
			r.version(pvc)
			r.SetVolumeClaim(pvc)
			r.pod("p", uses("data"), nominatedTo("n0"))
			r.Snapshot()
			if tt.pod != nil {
				r.clock = r.clock.Add(time.Second)
				r.pod("p", tt.pod...)
				r.Snapshot()
				r.clock = r.clock.Add(-time.Second)
			}
			r.clock = r.clock.Add(tt.after)
			r.Snapshot()
			r.Snapshot()
			if len(said) != tt.want {
				t.Errorf("missed %d times, want %d: %q", len(said), tt.want, said)
			}
			if tt.want == 1 && len(said) == 1 && said[0] != `persistentvolumeclaim "data" has no volume 5m0s after kube-scheduler chose node "n0": see the claim's events and its provisioner's log` {
				t.Errorf("told: %s", said[0])
			}
		})
	}
}

func neverPreempts(p *corev1.Pod) { p.Spec.PreemptionPolicy = new(corev1.PreemptNever) }

// The scheduler puts a pod on no other node than the one that its volume is being made for, be that there or not.
func TestAPodWhoseVolumeIsMadeForANodeThatIsGoneGetsNoOther(t *testing.T) {
	r := newRig()
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "late"}, Provisioner: "ebs", VolumeBindingMode: new(storagev1.VolumeBindingWaitForFirstConsumer)}
	r.version(class)
	r.SetStorageClass(class)
	claim := func(node, volume string) {
		pvc := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "data", Annotations: map[string]string{"volume.kubernetes.io/selected-node": node, "pv.kubernetes.io/bind-completed": "y"}}}
		pvc.Spec.StorageClassName, pvc.Spec.VolumeName = new("late"), volume
		r.version(pvc)
		r.SetVolumeClaim(pvc)
	}
	node := newNode("n0", "uid-n0", "id-1")
	for _, step := range []struct {
		what   string
		do     func()
		placed bool
	}{
		{"no node is chosen", func() { claim("", ""); r.pod("p", uses("data")) }, true},
		{"one is that is not there", func() { claim("n0", "") }, false},
		{"it comes", func() { r.version(node); r.SetNode(node) }, true},
		{"it goes", func() { r.version(node); r.RemoveNode(node) }, false},
		{"the choice is taken back", func() { claim("", "") }, true},
		{"it is made again", func() { claim("n0", "") }, false},
		{"the volume is there", func() {
			pv := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}}
			r.version(pv)
			r.SetVolume(pv)
			claim("n0", "pv")
		}, true},
	} {
		step.do()
		if why := r.Snapshot().Pending[0].Class.Unplaceable; (why == "") != step.placed {
			t.Errorf("%s: placed is to be %t, and the class says %q", step.what, step.placed, why)
		}
	}
	if n := len(r.chosenFor); n != 0 {
		t.Errorf("claims of %d nodes are remembered", n)
	}
}
