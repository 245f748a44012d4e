package repair

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Policy is a sign that a node does not work, and how long it may show before the node is replaced.
type Policy struct {
	Type       corev1.NodeConditionType
	Status     corev1.ConditionStatus
	Toleration time.Duration
}

// Policies are those for nodes on EC2. Conditions other than Ready come from the EKS node monitoring agent; a node
// without the agent does not have them.
//
// Source: the table of repair policies of the AWS provider of this API.
func Policies() []Policy {
	const minute = time.Minute
	return []Policy{
		{corev1.NodeReady, corev1.ConditionFalse, 30 * minute},
		{corev1.NodeReady, corev1.ConditionUnknown, 30 * minute},
		{"AcceleratedHardwareReady", corev1.ConditionFalse, 10 * minute},
		{"StorageReady", corev1.ConditionFalse, 30 * minute},
		{"NetworkingReady", corev1.ConditionFalse, 30 * minute},
		{"KernelReady", corev1.ConditionFalse, 30 * minute},
		{"ContainerRuntimeReady", corev1.ConditionFalse, 30 * minute},
	}
}

// diagnose finds the condition of a node for which a policy replaces it first, and when; ok is false for a healthy node.
func diagnose(node *corev1.Node, policies []Policy) (sign corev1.NodeCondition, due time.Time, ok bool) {
	for _, c := range node.Status.Conditions {
		for _, p := range policies {
			if c.Type != p.Type || c.Status != p.Status {
				continue
			}
			if at := c.LastTransitionTime.Add(p.Toleration); !ok || at.Before(due) {
				sign, due, ok = c, at, true
			}
		}
	}
	return sign, due, ok
}
