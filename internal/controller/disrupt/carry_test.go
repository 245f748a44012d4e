package disrupt

import (
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

// TestANodeGoesWhosePodsCountAsAbsent by their priority or deletion cost: the decision that it is empty has seen them.
func TestANodeGoesWhosePodsCountAsAbsent(t *testing.T) {
	for name, tt := range map[string]struct {
		edit func(*corev1.Pod)
		goes bool
	}{
		"priority of a placeholder": {func(p *corev1.Pod) { p.Spec.Priority = new(int32(-1_000_000_000)) }, true},
		"deletion cost": {func(p *corev1.Pod) {
			p.Annotations = map[string]string{karpv1.PodDeletionCostAnnotationKey: "-2147483648"}
		}, true},
		"a deletion cost of no words": {func(p *corev1.Pod) { p.Annotations = map[string]string{karpv1.PodDeletionCostAnnotationKey: "cheap"} }, false},
		"a low priority":              {func(p *corev1.Pod) { p.Spec.Priority = new(int32(-10)) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newTestCluster(t)
				g := h.instance("c1")
				h.bind("p", g.Node, tt.edit)
				if _, err := h.Start(t.Context(), emptyNodes(g)); err != nil {
					t.Fatal(err)
				}
				time.Sleep(Settle + time.Second)
				if h.deleting("c1") != tt.goes || h.marked(g) != tt.goes {
					t.Errorf("deleting %v, marked %v", h.deleting("c1"), h.marked(g))
				}
				h.end()
			})
		})
	}
}
