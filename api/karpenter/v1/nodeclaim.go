package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kerf-sh/kerf/api/status"
)

// NodeClaim is one node that was asked for, from before it is launched until it is gone.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=nodeclaims,scope=Cluster,categories=karpenter
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Type",type="string",JSONPath=".metadata.labels.node\\.kubernetes\\.io/instance-type",description="Instance type"
// +kubebuilder:printcolumn:name="Capacity",type="string",JSONPath=".metadata.labels.karpenter\\.sh/capacity-type",description="How the node is paid for"
// +kubebuilder:printcolumn:name="Zone",type="string",JSONPath=".metadata.labels.topology\\.kubernetes\\.io/zone",description="Zone of the node"
// +kubebuilder:printcolumn:name="Node",type="string",JSONPath=".status.nodeName",description="Name of the Node"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description="Whether the node is launched, registered and initialized"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
// +kubebuilder:printcolumn:name="ImageID",type="string",JSONPath=".status.imageID",priority=1,description="Image that the node booted"
// +kubebuilder:printcolumn:name="ID",type="string",JSONPath=".status.providerID",priority=1,description="Provider ID of the instance"
// +kubebuilder:printcolumn:name="NodePool",type="string",JSONPath=".metadata.labels.karpenter\\.sh/nodepool",priority=1,description="NodePool of the node"
// +kubebuilder:printcolumn:name="NodeClass",type="string",JSONPath=".spec.nodeClassRef.name",priority=1,description="Node class of the node"
// +kubebuilder:printcolumn:name="Drifted",type="string",JSONPath=".status.conditions[?(@.type==\"Drifted\")].status",priority=1,description="Whether the node differs from what its pool asks for now"
type NodeClaim struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What was asked for. Cannot change.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec is immutable; delete the NodeClaim and let its NodePool make another"
	// +required
	Spec NodeClaimSpec `json:"spec"`
	// What came of it.
	// +optional
	Status NodeClaimStatus `json:"status,omitempty"`
}

// NodeClaimList is a list of NodeClaims.
//
// +kubebuilder:object:root=true
type NodeClaimList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NodeClaim `json:"items"`
}

// NodeClaimSpec is what was asked for.
type NodeClaimSpec struct {
	// Taints of the node; pods need a toleration.
	// +listType=atomic
	// +optional
	Taints []corev1.Taint `json:"taints,omitempty"`
	// Taints that the node starts with and that something else removes.
	// +listType=atomic
	// +optional
	StartupTaints []corev1.Taint `json:"startupTaints,omitempty"`
	// What the node may look like, by its labels: every item must hold.
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:XValidation:rule="self.all(x, x.operator != 'In' || (has(x.values) && x.values.size() != 0))",message="operator 'In' needs 'values'"
	// +kubebuilder:validation:XValidation:rule="self.all(x, !(x.operator in ['Gt', 'Lt', 'Gte', 'Lte']) || (has(x.values) && x.values.size() == 1 && int(x.values[0]) >= 0))",message="operators 'Gt', 'Lt', 'Gte' and 'Lte' need exactly one value, a non-negative integer"
	// +kubebuilder:validation:XValidation:rule="self.all(x, x.operator != 'In' || !has(x.minValues) || (has(x.values) && x.values.size() >= x.minValues))",message="operator 'In' with 'minValues' needs at least that many values"
	// +listType=atomic
	// +required
	Requirements []NodeSelectorRequirementWithMinValues `json:"requirements"`
	// Least resources that the node must offer.
	// +optional
	Resources ResourceRequirements `json:"resources,omitzero"`
	// The object with the cloud's settings for this node.
	// +required
	NodeClassRef *NodeClassReference `json:"nodeClassRef"`
	// How long the node may take to drain before its pods are deleted without regard to
	// PodDisruptionBudgets and karpenter.sh/do-not-disrupt. Unset waits for ever.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+(s|m|h))+$`
	// +optional
	TerminationGracePeriod *Duration `json:"terminationGracePeriod,omitempty"`
	// Age at which the node is removed in any case: disruption budgets and karpenter.sh/do-not-disrupt do not
	// keep it. Never: it is not removed for its age.
	// +kubebuilder:default="720h"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^(([0-9]+(s|m|h))+|Never)$`
	// +optional
	ExpireAfter NillableDuration `json:"expireAfter,omitzero"`
}

// ResourceRequirements are the least resources of a node.
type ResourceRequirements struct {
	// Sum of the requests of the pods that the node was made for and of its daemons.
	// +optional
	Requests corev1.ResourceList `json:"requests,omitempty"`
}

// NodeClaimStatus is what came of a NodeClaim.
type NodeClaimStatus struct {
	// Name of the Node.
	// +optional
	NodeName string `json:"nodeName,omitempty"`
	// Provider ID of the instance.
	// +optional
	ProviderID string `json:"providerID,omitempty"`
	// Image that the instance booted.
	// +optional
	ImageID string `json:"imageID,omitempty"`
	// Resources that the node is expected to have.
	// +optional
	Capacity corev1.ResourceList `json:"capacity,omitempty"`
	// Resources that the node is expected to leave for pods.
	// +optional
	Allocatable corev1.ResourceList `json:"allocatable,omitempty"`
	// State of the NodeClaim, one observation per type.
	// +optional
	Conditions []status.Condition `json:"conditions,omitempty"`
	// When a pod last came to, ended on or left the node. consolidateAfter counts from it.
	// +optional
	LastPodEventTime metav1.Time `json:"lastPodEventTime,omitzero"`
}
