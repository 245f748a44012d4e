package intake

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// nodeSelector is what a pod's nodeSelector demands, and what its spec.os does. The scheduler does not look at spec.os, but
// a kubelet fails a pod of another operating system than its own, so no node of another one is of use to the pod.
func nodeSelector(spec *corev1.PodSpec) []requirement.Term {
	out := selectorTerms(spec.NodeSelector)
	if spec.OS == nil || spec.OS.Name == "" || spec.NodeSelector[corev1.LabelOSStable] == string(spec.OS.Name) {
		return out
	}
	return sortTerms(append(out, requirement.Term{Key: corev1.LabelOSStable, Operator: requirement.In, Values: []string{string(spec.OS.Name)}}))
}
