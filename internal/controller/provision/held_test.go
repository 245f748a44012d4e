package provision

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// TestPodsKeepAwayFromOneThatIsHeldOnANodeThatGoes: the scheduler counts it, so one that must be in another zone is launched there. One
// that is to leave does not count.
func TestPodsKeepAwayFromOneThatIsHeldOnANodeThatGoes(t *testing.T) {
	for name, tt := range map[string]struct {
		held bool
		zone []string
	}{
		"held":      {true, []string{"b"}},
		"may leave": {false, []string{"a", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newTestCluster(t)
			h.pool("default")
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "n", ResourceVersion: h.version(), DeletionTimestamp: new(metav1.Now()), Labels: map[string]string{corev1.LabelTopologyZone: "a"}}}
			node.Status.Allocatable = corev1.ResourceList{"cpu": resource.MustParse("8"), "pods": resource.MustParse("10")}
			h.cache.SetNode(node)
			apart := func(p *corev1.Pod) {
				p.Labels = map[string]string{"app": "db"}
				p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
					TopologyKey: corev1.LabelTopologyZone, LabelSelector: &metav1.LabelSelector{MatchLabels: p.Labels},
				}}}}
			}
			h.pod("db-0", "3", apart, func(p *corev1.Pod) {
				p.Spec.NodeName, p.Status.Conditions = "n", nil
				if tt.held {
					p.Annotations = map[string]string{karpv1.DoNotDisruptAnnotationKey: "true"}
				}
			})
			h.pod("db-1", "3", apart)
			out, err := h.Decide(t.Context())
			if err != nil || h.count.violated > 0 {
				t.Fatalf("outcome %+v, %v, %d violations", out, err, h.count.violated)
			}
			got := map[string]int{}
			for _, c := range h.claims() {
				for _, r := range c.Spec.Requirements {
					if r.Key == requirement.Zone && len(r.Values) == 1 {
						got[r.Values[0]]++
					}
				}
			}
			if len(h.claims()) != len(tt.zone) || len(got) != len(tt.zone) || got[tt.zone[0]] != 1 {
				t.Errorf("claims are in %v, want one in each of %v", got, tt.zone)
			}
		})
	}
}
