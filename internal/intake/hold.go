package intake

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

// HeldUntil reports whether the pod's owner forbade to move it (karpenter.sh/do-not-disrupt): for good, with "true", or
// for a time from the pod's start, with a duration. The end is zero when there is none, or when the pod has not started.
// Anything else in the annotation says nothing.
func HeldUntil(pod *corev1.Pod, now time.Time) (held bool, end time.Time) {
	value := pod.Annotations[karpv1.DoNotDisruptAnnotationKey]
	if value == "true" {
		return true, time.Time{}
	}
	d, err := time.ParseDuration(value)
	if err != nil || d <= 0 {
		return false, time.Time{}
	}
	if pod.Status.StartTime == nil {
		return true, time.Time{}
	}
	end = pod.Status.StartTime.Add(d)
	return now.Before(end), end
}

// HeldByBudgets reports whether no eviction of the pod can ever succeed as the budgets of its namespace are: more than one
// of them selects it, or one that allows no disruption at all.
func HeldByBudgets(pod *corev1.Pod, budgets []*policyv1.PodDisruptionBudget) bool {
	n, never := 0, false
	for _, b := range budgets {
		if b.Namespace != pod.Namespace || b.DeletionTimestamp != nil {
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector) // nil selects nothing, empty all
		if err != nil || !selector.Matches(labels.Set(pod.Labels)) {
			continue
		}
		n++
		never = never || allowsNone(&b.Spec)
	}
	return n > 1 || never
}

// allowsNone reports whether a budget says that no pod may be missing, however many there are.
func allowsNone(spec *policyv1.PodDisruptionBudgetSpec) bool {
	is := func(v *intstr.IntOrString, number int32, percent string) bool {
		return v != nil && (v.Type == intstr.Int && number >= 0 && v.IntVal == number || v.Type == intstr.String && v.StrVal == percent)
	}
	return is(spec.MaxUnavailable, 0, "0%") || is(spec.MinAvailable, -1, "100%")
}
