package changeplan

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	controller "github.com/kerf-sh/kerf/internal/controller/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/state/cache"
)

// blocksOf are the reasons for which a drifted node stays as things are now, as the controller heeds them, with the budgets
// by name. unit is the claim's node, nil while it is not known.
func (s *seen) blocksOf(claim *karpv1.NodeClaim, unit *cluster.Node, standing *cache.DisruptionConstraints) []disrupt.Reason {
	if unit == nil {
		return []disrupt.Reason{{Code: disrupt.NotInitialized}}
	}
	out := controller.Against(unit, claim, s.pools[unit.Pool], standing.Nodes[unit.Name])
	for i := range out {
		if out[i].Code != disrupt.DisruptionBudget {
			continue
		}
		on := s.pods[unit.Name]
		if j := slices.IndexFunc(on, func(p *corev1.Pod) bool { return p.Namespace+"/"+p.Name == out[i].Pod }); j >= 0 {
			out[i].Detail = s.budgetOn(on[j], out[i].Detail)
		}
	}
	return out
}

// budgetOn names what refuses the eviction of a pod.
func (s *seen) budgetOn(pod *corev1.Pod, otherwise string) string {
	var of []*policyv1.PodDisruptionBudget
	for i := range s.budgets {
		b := &s.budgets[i]
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if b.Namespace == pod.Namespace && err == nil && selector.Matches(labels.Set(pod.Labels)) {
			of = append(of, b)
		}
	}
	switch len(of) {
	case 0:
		return otherwise
	case 1:
		return fmt.Sprintf("%s: %d of %d pods are healthy and %d are wanted", of[0].Name, of[0].Status.CurrentHealthy, of[0].Status.ExpectedPods, of[0].Status.DesiredHealthy)
	}
	return fmt.Sprintf("the budgets %s and %s both select it, which the eviction API refuses", of[0].Name, of[1].Name)
}
