package provision

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// TestPodsThatTolerateAllAreLaunchedForBesideANodeThatIsMarkedToGo: kube-scheduler, which knows only the taint, may bind such a pod
// to the marked node all the same. What was launched for it is for when that node goes: it is not launched for again.
func TestPodsThatTolerateAllAreLaunchedForBesideANodeThatIsMarkedToGo(t *testing.T) {
	for name, bound := range map[string]bool{"it waits": false, "kube-scheduler binds it to the marked node": true} {
		t.Run(name, func(t *testing.T) {
			h := newTestCluster(t)
			h.pool("default")
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "n", ResourceVersion: h.version(), Annotations: map[string]string{intake.DisruptingAnnotation: "Underutilized"}}}
			node.Spec.Taints = []corev1.Taint{karpv1.DisruptedNoScheduleTaint()}
			node.Status.Allocatable = corev1.ResourceList{"cpu": resource.MustParse("8"), "pods": resource.MustParse("10")}
			node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
			h.cache.SetNode(node)
			agent := func(edit func(*corev1.Pod)) {
				h.pod("a", "3", func(p *corev1.Pod) {
					p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
					edit(p)
				})
			}
			agent(func(*corev1.Pod) {})
			if out, err := h.Decide(t.Context()); err != nil || len(out.Created) != 1 || len(out.Refused) != 0 {
				t.Fatalf("outcome %+v, %v, want an instance", out, err)
			}
			if bound {
				agent(func(p *corev1.Pod) { p.Spec.NodeName, p.Status.Conditions = "n", nil })
			}
			for _, going := range []bool{false, true} {
				if going {
					node = node.DeepCopy()
					node.ResourceVersion, node.DeletionTimestamp = h.version(), new(metav1.Now())
					h.cache.SetNode(node)
				}
				if out, err := h.Decide(t.Context()); err != nil || len(out.Created) != 0 || len(h.cache.Snapshot().Pending) != 0 {
					t.Fatalf("node is being deleted: %v: outcome %+v, %v, %d pods pending, want its room kept", going, out, err, len(h.cache.Snapshot().Pending))
				}
			}
		})
	}
}
