package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kerf-sh/kerf/api/status"
)

// NodeOverlay changes what Kerf believes about the price or the extended resources of those
// instance types that meet its requirements.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=nodeoverlays,scope=Cluster,categories=karpenter,shortName={overlays}
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description="Whether the overlay is in use"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
// +kubebuilder:printcolumn:name="Weight",type="integer",JSONPath=".spec.weight",priority=1,description="Precedence over other overlays"
type NodeOverlay struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Which instance types are changed, and how.
	// +kubebuilder:validation:XValidation:rule="!has(self.price) || !has(self.priceAdjustment)",message="set 'price' or 'priceAdjustment', not both"
	// +required
	Spec NodeOverlaySpec `json:"spec"`
	// Whether the overlay could be used.
	// +optional
	Status NodeOverlayStatus `json:"status,omitempty"`
}

// NodeOverlayList is a list of NodeOverlays.
//
// +kubebuilder:object:root=true
type NodeOverlayList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NodeOverlay `json:"items"`
}

// NodeOverlaySpec says which instance types are changed, and how.
type NodeOverlaySpec struct {
	// Which offerings the overlay is for: every item must hold.
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:XValidation:rule="self.all(x, !(x.operator in ['In', 'NotIn']) || (has(x.values) && x.values.size() != 0))",message="operators 'In' and 'NotIn' need 'values'"
	// +kubebuilder:validation:XValidation:rule="self.all(x, !(x.operator in ['Gt', 'Lt', 'Gte', 'Lte']) || (has(x.values) && x.values.size() == 1 && int(x.values[0]) >= 0))",message="operators 'Gt', 'Lt', 'Gte' and 'Lte' need exactly one value, a non-negative integer"
	// +listType=atomic
	// +required
	Requirements []NodeSelectorRequirement `json:"requirements"`
	// Difference to the price: absolute with a sign (+0.5, -1) or a percentage with a sign (+10%, -15%).
	// +kubebuilder:validation:Pattern=`^([+-]([0-9]*\.)?[0-9]+|[+]([0-9]*\.)?[0-9]+%|-([0-9]{1,2}(\.[0-9]+)?|100)%)$`
	// +optional
	PriceAdjustment *string `json:"priceAdjustment,omitempty"`
	// Price in place of the known one, in dollars per hour, without a sign.
	// +kubebuilder:validation:Pattern=`^[0-9]+(\.[0-9]+)?$`
	// +optional
	Price *string `json:"price,omitempty"`
	// Extended resources to add to the instance types' capacity.
	// +kubebuilder:validation:XValidation:rule="self.all(x, !(x in ['cpu', 'memory', 'ephemeral-storage', 'pods']))",message="capacity may hold extended resources only: not cpu, memory, ephemeral-storage or pods"
	// +optional
	Capacity corev1.ResourceList `json:"capacity,omitempty"`
	// Precedence over other overlays of the same instance type. Unset counts as 0.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	// +optional
	Weight *int32 `json:"weight,omitempty"`
}

// NodeSelectorRequirement is one demand on an offering's labels.
type NodeSelectorRequirement struct {
	// Label key that the demand is about.
	// +kubebuilder:validation:MaxLength=316
	// +kubebuilder:validation:XValidation:rule="self in ['karpenter.sh/capacity-type', 'karpenter.sh/nodepool'] || !self.find('^([^/]+)').endsWith('karpenter.sh')",message="label domain \"karpenter.sh\" is restricted: use karpenter.sh/capacity-type or karpenter.sh/nodepool, or a domain of your own"
	// +kubebuilder:validation:XValidation:rule="self != 'kubernetes.io/hostname'",message="label \"kubernetes.io/hostname\" is restricted: a node that does not exist yet has no name"
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*(\/))?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$`
	// +required
	Key string `json:"key"`
	// How the label's value relates to values.
	// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist;Gt;Lt;Gte;Lte
	// +required
	Operator corev1.NodeSelectorOperator `json:"operator"`
	// Values for In and NotIn; one non-negative integer for Gt, Lt, Gte and Lte; unused otherwise.
	// +listType=atomic
	// +optional
	Values []string `json:"values,omitempty"`
}

// NodeOverlayStatus tells whether an overlay could be used.
type NodeOverlayStatus struct {
	// State of the overlay, one observation per type.
	// +optional
	Conditions []status.Condition `json:"conditions,omitempty"`
}

// Condition types and reasons of NodeOverlay.
const (
	ConditionTypeReady               = status.Ready
	ConditionTypeValidationSucceeded = "ValidationSucceeded"

	// ReasonRuntimeValidation is on an overlay that the schema admits but that makes no sense.
	ReasonRuntimeValidation = "RuntimeValidation"
	// ReasonConflict is on an overlay that contradicts another of the same weight.
	ReasonConflict = "Conflict"
)

// GetConditions returns the conditions as stored.
func (o *NodeOverlay) GetConditions() []status.Condition { return o.Status.Conditions }

// SetConditions replaces the conditions.
func (o *NodeOverlay) SetConditions(c []status.Condition) { o.Status.Conditions = c }

// StatusConditions returns the condition set of o.
func (o *NodeOverlay) StatusConditions() status.Set {
	return status.For(o, ConditionTypeValidationSucceeded)
}
