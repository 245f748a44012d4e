package v1

import corev1 "k8s.io/api/core/v1"

// Operators of requirements beyond those that core/v1 names.
const (
	// NodeSelectorOpGte asks for a label value that is at least the given integer.
	NodeSelectorOpGte corev1.NodeSelectorOperator = "Gte"
	// NodeSelectorOpLte asks for a label value that is at most the given integer.
	NodeSelectorOpLte corev1.NodeSelectorOperator = "Lte"
)

// NodeSelectorRequirementWithMinValues is one demand on a node's labels, with an optional demand
// that enough different values stay possible.
type NodeSelectorRequirementWithMinValues struct {
	// Label key that the demand is about, such as karpenter.sh/capacity-type, topology.kubernetes.io/zone,
	// node.kubernetes.io/instance-type or karpenter.k8s.aws/instance-family.
	// +kubebuilder:validation:MaxLength=316
	// +kubebuilder:validation:XValidation:rule="self in ['karpenter.sh/capacity-type', 'karpenter.sh/nodepool'] || !self.find('^([^/]+)').endsWith('karpenter.sh')",message="label domain \"karpenter.sh\" is restricted: use karpenter.sh/capacity-type, or a domain of your own"
	// +kubebuilder:validation:XValidation:rule="self != 'kubernetes.io/hostname'",message="label \"kubernetes.io/hostname\" is restricted: a node that does not exist yet has no name"
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*(\/))?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$`
	// +required
	Key string `json:"key"`
	// How the label's value relates to values: In and NotIn one of them, Gt, Gte, Lt and Lte by number. Exists
	// and DoesNotExist ask whether nodes have the label at all.
	// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist;Gt;Lt;Gte;Lte
	// +required
	Operator corev1.NodeSelectorOperator `json:"operator"`
	// Values for In and NotIn; one non-negative integer for Gt, Lt, Gte and Lte; unused otherwise.
	// +listType=atomic
	// +optional
	Values []string `json:"values,omitempty"`
	// Least number of different values that must stay possible when a node is launched, so that EC2 can
	// choose among as many types or families. Unset: one is enough. Where there are fewer, nothing is
	// launched, unless the setting MIN_VALUES_POLICY is BestEffort.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=50
	// +optional
	MinValues *int `json:"minValues,omitempty"`
}
