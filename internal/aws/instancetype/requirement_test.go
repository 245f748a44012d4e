package instancetype

import corev1 "k8s.io/api/core/v1"

func awsRequirement(key, value string) []corev1.NodeSelectorRequirement {
	return []corev1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}}}
}
