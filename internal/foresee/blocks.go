package foresee

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/disrupt"
	"github.com/kerf-sh/kerf/internal/intake"
)

// blocksOf are the reasons for which a drifted node stays as things are now. A claim with a terminationGracePeriod is
// replaced whatever its pods ask: they are ended when that is over.
func (s *seen) blocksOf(claim *karpv1.NodeClaim, node *corev1.Node, now time.Time) []disrupt.Reason {
	var out []disrupt.Reason
	add := func(r disrupt.Reason) { out = append(out, r) }
	switch {
	case !claim.DeletionTimestamp.IsZero():
		add(disrupt.Reason{Code: disrupt.Deleting})
	case node == nil || !claim.StatusConditions().IsTrue(karpv1.ConditionTypeInitialized):
		add(disrupt.Reason{Code: disrupt.NotInitialized})
	}
	if node == nil {
		return out
	}
	if node.Annotations[karpv1.DoNotDisruptAnnotationKey] == "true" || claim.Annotations[karpv1.DoNotDisruptAnnotationKey] == "true" {
		add(disrupt.Reason{Code: disrupt.DoNotDisrupt})
	}
	if claim.Spec.TerminationGracePeriod != nil {
		return out
	}
	for _, pod := range s.pods[node.Name] {
		if !pod.DeletionTimestamp.IsZero() || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		name := pod.Namespace + "/" + pod.Name
		if held, end := intake.HeldUntil(pod, now); held {
			r := disrupt.Reason{Code: disrupt.DoNotDisrupt, Pod: name}
			if !end.IsZero() {
				r.Detail = "until " + end.UTC().Format(time.RFC3339)
			}
			add(r)
			continue
		}
		if why := s.budgetOn(pod); why != "" && intake.Reschedulable(pod) {
			add(disrupt.Reason{Code: disrupt.DisruptionBudget, Pod: name, Detail: why})
		}
	}
	return out
}

// budgetOn says why the eviction API would refuse the pod now; empty when it would not.
func (s *seen) budgetOn(pod *corev1.Pod) string {
	var of []*policyv1.PodDisruptionBudget
	for i := range s.budgets {
		b := &s.budgets[i]
		if b.Namespace != pod.Namespace {
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err == nil && selector.Matches(labels.Set(pod.Labels)) {
			of = append(of, b)
		}
	}
	if len(of) == 0 || pod.Status.Phase == corev1.PodPending {
		return ""
	}
	if len(of) > 1 {
		return fmt.Sprintf("the budgets %s and %s both select it, which the eviction API refuses", of[0].Name, of[1].Name)
	}
	b := of[0]
	if b.Status.DisruptionsAllowed > 0 {
		return ""
	}
	if policy := b.Spec.UnhealthyPodEvictionPolicy; policy != nil && *policy == policyv1.AlwaysAllow && !ready(pod) {
		return ""
	}
	return fmt.Sprintf("%s: %d of %d pods are healthy and %d are wanted", b.Name, b.Status.CurrentHealthy, b.Status.ExpectedPods, b.Status.DesiredHealthy)
}

func ready(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
