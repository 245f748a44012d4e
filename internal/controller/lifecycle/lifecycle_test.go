package lifecycle

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/apply"
	"github.com/kerf-sh/kerf/internal/state/cache"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

func readyNode(change ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"from": "kubelet"}}}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	n.Status.Allocatable = corev1.ResourceList{"cpu": resource.MustParse("2"), "nvidia.com/gpu": resource.MustParse("0")}
	for _, f := range change {
		f(n)
	}
	return n
}

func TestUninitialized(t *testing.T) {
	startup := corev1.Taint{Key: "cni", Value: "x", Effect: corev1.TaintEffectNoExecute}
	taint := func(t corev1.Taint) func(*corev1.Node) {
		return func(n *corev1.Node) { n.Spec.Taints = append(n.Spec.Taints, t) }
	}
	for name, tc := range map[string]struct {
		requests string
		node     *corev1.Node
		pods     devices
		want     string
	}{
		"a ready node":                         {"cpu", readyNode(), nil, ""},
		"no Ready condition":                   {"cpu", readyNode(func(n *corev1.Node) { n.Status.Conditions = nil }), nil, karpv1.ReasonNodeNotReady},
		"a start-up taint is still there":      {"cpu", readyNode(taint(startup)), nil, karpv1.ReasonStartupTaintsExist},
		"the start-up taint with other effect": {"cpu", readyNode(taint(corev1.Taint{Key: "cni", Value: "x", Effect: corev1.TaintEffectNoSchedule})), nil, ""},
		"the not-ready taint is still there":   {"cpu", readyNode(taint(corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule})), nil, karpv1.ReasonKnownEphemeralTaintsExist},
		"a readiness gate's taint":             {"cpu", readyNode(taint(corev1.Taint{Key: "readiness.k8s.io/net", Effect: corev1.TaintEffectNoSchedule})), nil, karpv1.ReasonKnownEphemeralTaintsExist},
		"the gpu driver is not up yet":         {"nvidia.com/gpu", readyNode(), nil, karpv1.ReasonResourceNotRegistered},
		"a pod has the gpu from a driver":      {"nvidia.com/gpu", readyNode(), devices{"nvidia.com/gpu"}, ""},
		"a pod has another device from one":    {"nvidia.com/gpu", readyNode(), devices{"example.com/fpga"}, karpv1.ReasonResourceNotRegistered},
	} {
		t.Run(name, func(t *testing.T) {
			claim := &karpv1.NodeClaim{}
			claim.Spec.StartupTaints = []corev1.Taint{startup}
			claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceName(tc.requests): resource.MustParse("1"), "absent": resource.MustParse("0")}
			c := &Controller{Waiting: tc.pods}
			if got, message := c.uninitialized(claim, tc.node); got != tc.want || (got != "") != (message != "") {
				t.Errorf("got %q (%s), want %q", got, message, tc.want)
			}
		})
	}
}

// devices are what the pods on a node have from drivers.
type devices []corev1.ResourceName

func (d devices) WaitingFor(string) (time.Time, bool)               { return time.Time{}, false }
func (d devices) ReservedFor(string) []*corev1.Pod                  { return nil }
func (d devices) Listen(func(cache.Change))                         {}
func (d devices) HasDevice(_ string, name corev1.ResourceName) bool { return slices.Contains(d, name) }

func TestAdoptGivesTheNodeWhatItsClaimSays(t *testing.T) {
	claim := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "c", UID: "u", Labels: map[string]string{"team": "a"}, Annotations: map[string]string{"note": "b", intake.TurnKey: "2", apply.HoldUntilAnnotation: "2026-01-02T03:04:05Z"}}}
	claim.Spec.Taints = []corev1.Taint{{Key: "dedicated", Value: "claim", Effect: corev1.TaintEffectNoSchedule}}
	claim.Spec.StartupTaints = []corev1.Taint{{Key: "cni", Effect: corev1.TaintEffectNoExecute}}
	node := readyNode(func(n *corev1.Node) {
		n.Spec.Taints = []corev1.Taint{{Key: "dedicated", Value: "node", Effect: corev1.TaintEffectNoSchedule}, karpv1.UnregisteredNoExecuteTaint()}
	})
	adopt(node, claim)
	adopt(node, claim)
	if len(node.Finalizers) != 1 || len(node.OwnerReferences) != 1 || node.OwnerReferences[0].Name != "c" || !*node.OwnerReferences[0].BlockOwnerDeletion {
		t.Errorf("finalizers %v, owners %v", node.Finalizers, node.OwnerReferences)
	}
	if until, copied := node.Annotations[apply.HoldUntilAnnotation]; copied {
		t.Errorf("the node says until when its instance stays (%s), where nobody would change it", until)
	}
	if node.Labels["team"] != "a" || node.Labels["from"] != "kubelet" || node.Labels[karpv1.NodeRegisteredLabelKey] != "true" || node.Annotations["note"] != "b" {
		t.Errorf("labels %v, annotations %v", node.Labels, node.Annotations)
	}
	got := map[string]string{}
	for _, x := range node.Spec.Taints {
		got[x.Key] = x.Value
	}
	if _, copied := node.Annotations[intake.TurnKey]; copied || got[intake.TurnKey] != "2" {
		t.Errorf("taints %v, annotations %v: want the turn of the claim as a taint", node.Spec.Taints, node.Annotations)
	}
	delete(got, intake.TurnKey)
	if len(node.Spec.Taints) != 3 || len(got) != 2 || got["dedicated"] != "node" {
		t.Errorf("taints %v: want the node's own value to stay, the start-up taint added, the unregistered one gone", node.Spec.Taints)
	}

	handed := readyNode(func(n *corev1.Node) { n.Labels[karpv1.DoNotSyncTaintsLabelKey] = "true" })
	adopt(handed, claim)
	if len(slices.DeleteFunc(handed.Spec.Taints, intake.IsTurnTaint)) != 0 {
		t.Errorf("taints %v were added to a node that asked for none", handed.Spec.Taints)
	}
}
