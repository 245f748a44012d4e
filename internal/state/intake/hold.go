package intake

import (
	"time"

	corev1 "k8s.io/api/core/v1"

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
