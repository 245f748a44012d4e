package cache

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// landing is a rig of two nodes, n0 of the claim c0 and n1 of c1: p0 and p1 are planned on the first, p2 on the second.
func landing(p2 ...func(*corev1.Pod)) (*rig, *[]Change) {
	r, c0, _ := assumed()
	c1 := r.claim("c1")
	r.Assume(c1, intake.Expected{}, nil, r.clock.Add(time.Minute))
	r.Reserve(r.instance("c1"), []cluster.PodRef{r.pod("p2", p2...)}, r.clock.Add(time.Minute))
	for i, c := range []*karpv1.NodeClaim{c0, c1} {
		launch(c)
		c.Status.ProviderID = []string{"id-0", "id-1"}[i]
		r.version(c)
		r.SetClaim(c)
		n := newNode([]string{"n0", "n1"}[i], "uid-n"+[]string{"0", "1"}[i], c.Status.ProviderID)
		r.version(n)
		r.SetNode(n)
	}
	placed := &[]Change{}
	r.Listen(func(c Change) {
		if c.Kind == PodPlaced {
			*placed = append(*placed, c)
		}
	})
	return r, placed
}

func larger(p *corev1.Pod) {
	p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("2")}
}

func TestPodsThatAreBoundAreHeldAgainstThePlan(t *testing.T) {
	for name, tt := range map[string]struct {
		p2      []func(*corev1.Pod)
		binds   [][2]string // pod, node
		planned []bool
	}{
		"all as planned":                           {nil, [][2]string{{"p0", "n0"}, {"p1", "n0"}, {"p2", "n1"}}, []bool{true, true, true}},
		"equal pods stand for each other":          {nil, [][2]string{{"p0", "n1"}, {"p2", "n0"}, {"p1", "n0"}}, []bool{true, true, true}},
		"two on the node of one":                   {nil, [][2]string{{"p0", "n1"}, {"p2", "n1"}}, []bool{true, false}},
		"a pod that is not like those on the node": {[]func(*corev1.Pod){larger}, [][2]string{{"p2", "n0"}}, []bool{false}},
		"a node that no decision knew of this pod": {nil, [][2]string{{"p0", "elsewhere"}}, []bool{false}},
		"the same pod, told of twice, counts once": {nil, [][2]string{{"p0", "n0"}, {"p0", "n0"}}, []bool{true}},
		"a pod of which no decision was made":      {nil, [][2]string{{"stranger", "n0"}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r, placed := landing(tt.p2...)
			for _, b := range tt.binds {
				if b[0] == "stranger" {
					r.pod("stranger")
				}
				edit := append([]func(*corev1.Pod){bound(b[1])}, tt.p2...)
				if b[0] != "p2" {
					edit = edit[:1]
				}
				r.pod(b[0], edit...)
				if want := rivalsOf(r.Cache); !equalRivals(want, r.rivals) {
					t.Errorf("once %s is on %s: rivals are %v, want %v", b[0], b[1], r.rivals, want)
				}
			}
			var got []bool
			for _, c := range *placed {
				got = append(got, c.AsPlanned)
			}
			if len(got) != len(tt.planned) {
				t.Fatalf("told %v, want %v", got, tt.planned)
			}
			for i := range got {
				if got[i] != tt.planned[i] {
					t.Errorf("told %v, want %v", got, tt.planned)
				}
			}
		})
	}
}

// A pod that takes the room of an equal one leaves it its own.
func TestRoomIsExchangedBetweenEqualPods(t *testing.T) {
	r, _ := landing()
	r.pod("p0", bound("n1"))
	if n0, n1 := r.instance("n0"), r.instance("n1"); len(n0.Pods) != 2 || len(n1.Pods) != 1 {
		t.Errorf("%d pods on or for n0 and %d for n1, want 2 and 1", len(n0.Pods), len(n1.Pods))
	}
}

func TestSuccessorsOfEvictedPodsAreHeldAgainstThePlan(t *testing.T) {
	controlled := func(p *corev1.Pod) {
		yes := true
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "uid-web", Controller: &yes}}
	}
	terminating := func(p *corev1.Pod) { now := metav1.Unix(1000, 0); p.DeletionTimestamp = &now }
	for name, tt := range map[string]struct {
		node            string
		atOnce, planned bool
	}{
		"as planned": {"n1", false, true}, "elsewhere": {"n0", false, false}, "as planned, after a pod that ended at once": {"n1", true, true},
	} {
		r, placed := landing()
		r.pod("old", controlled, bound("n0"))
		r.Reserve(r.instance("n1"), []cluster.PodRef{r.pod("old", controlled, bound("n0"))}, r.clock.Add(time.Minute))
		if !r.reserved.Has("uid-old") { // its node is not going away: nothing is kept for it
			leaves := newNode("n0", "uid-n0", "id-0")
			now := metav1.Unix(1000, 0)
			leaves.DeletionTimestamp, leaves.Finalizers = &now, []string{"karpenter.sh/termination"}
			r.version(leaves)
			r.SetNode(leaves)
			r.Reserve(r.instance("n1"), []cluster.PodRef{r.pod("old", controlled, bound("n0"))}, r.clock.Add(time.Minute))
		}
		if tt.atOnce {
			r.RemovePod(r.entries[podKey{Namespace: "ns", Name: "old"}].obj)
		} else {
			r.pod("old", controlled, bound("n0"), terminating)
		}
		r.pod("new", controlled)
		r.pod("new", controlled, bound(tt.node))
		if len(*placed) != 1 || !(*placed)[0].Disruption || (*placed)[0].AsPlanned != tt.planned {
			t.Errorf("%s: told %+v, want one of a disruption, as planned: %v", name, *placed, tt.planned)
		}
		if n := r.reserved.Sizes().Successions; n != 0 {
			t.Errorf("%d places are still kept for successors", n)
		}
	}
}

// Which of two equal pods is evicted first is not planned: a successor that takes the room of a pod still to be evicted leaves
// that one its own.
func TestASuccessorExchangesWithAPodThatIsStillToBeEvicted(t *testing.T) {
	controlled := func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "uid-web", Controller: new(true)}}
	}
	now := metav1.Unix(1000, 0)
	terminating := func(p *corev1.Pod) { p.DeletionTimestamp = &now }
	for name, tt := range map[string]struct {
		later   []func(*corev1.Pod) // how the pod for n1 differs
		planned []bool
	}{
		"equal pods":     {nil, []bool{true, true}},
		"another's pod":  {[]func(*corev1.Pod){func(p *corev1.Pod) { p.OwnerReferences[0].UID = "uid-db" }}, []bool{false}},
		"another's size": {[]func(*corev1.Pod){larger}, []bool{false}},
	} {
		t.Run(name, func(t *testing.T) {
			r, placed := landing()
			old := newNode("old", "uid-old-node", "id-old")
			old.DeletionTimestamp, old.Finalizers = &now, []string{"karpenter.sh/termination"}
			r.version(old)
			r.SetNode(old)
			for i, pod := range []string{"first", "later"} {
				edit := []func(*corev1.Pod){controlled, bound("old")}
				if i == 1 {
					edit = append(edit, tt.later...)
				}
				r.Reserve(r.instance([]string{"n0", "n1"}[i]), []cluster.PodRef{r.pod(pod, edit...)}, r.clock.Add(time.Minute))
			}
			r.pod("first", controlled, bound("old"), terminating)
			r.pod("new-1", controlled)
			r.pod("new-1", controlled, bound("n1"))
			if tt.later == nil {
				r.pod("later", controlled, bound("old"), terminating)
				r.pod("new-2", controlled)
				r.pod("new-2", controlled, bound("n0"))
			}
			var got []bool
			for _, c := range *placed {
				got = append(got, c.AsPlanned)
			}
			if !slices.Equal(got, tt.planned) {
				t.Errorf("told %v, want %v", got, tt.planned)
			}
		})
	}
}

// A pod that is left waiting is told of where its node is ready and has room: others can not have taken it.
func TestAPodIsMissedWhereItsPlaceIsFree(t *testing.T) {
	for name, tt := range map[string]struct {
		node  func(*corev1.Node)
		other string            // what a pod that nobody planned for has taken
		claim map[string]string // the annotations of a claim that one of the pods has
		want  int
	}{
		"free":                         {func(*corev1.Node) {}, "", nil, 2},
		"taken by others":              {func(*corev1.Node) {}, "3500m", nil, 0},
		"taken by others, all but one": {func(*corev1.Node) {}, "2500m", nil, 1},
		"not ready":                    {func(n *corev1.Node) { n.Status.Conditions = nil }, "", nil, 0},
		"not initialized":              {func(n *corev1.Node) { delete(n.Labels, karpv1.NodeInitializedLabelKey) }, "", nil, 0},
		"a claim waits for a node":     {func(*corev1.Node) {}, "", map[string]string{}, 2},
		"a volume is being made":       {func(*corev1.Node) {}, "", map[string]string{"volume.kubernetes.io/selected-node": "n0"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			r, claim, _ := assumed()
			claim = claim.DeepCopy()
			launch(claim)
			r.version(claim)
			r.SetClaim(claim)
			node := newNode("n0", "uid-n0", "id-1")
			node.Labels = map[string]string{karpv1.NodeRegisteredLabelKey: "true", karpv1.NodeInitializedLabelKey: "true"}
			node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
			tt.node(node)
			r.version(node)
			r.SetNode(node)
			if tt.other != "" {
				r.pod("other", bound("n0"), func(p *corev1.Pod) {
					p.Spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse(tt.other)
				})
			}
			if tt.claim != nil {
				pvc := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "data", Annotations: tt.claim}}
				r.version(pvc)
				r.SetVolumeClaim(pvc)
				r.pod("p0", uses("data"))
			}
			r.Snapshot()
			r.clock = r.clock.Add(time.Minute)
			if n := r.pending(); n != 2 {
				t.Errorf("%d pods are pending, want 2", n)
			}
			if got := r.told[PodMissed]; got != tt.want {
				t.Errorf("%d pods were missed, want %d", got, tt.want)
			}
		})
	}
}

func uses(claim string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: claim, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}})
	}
}
