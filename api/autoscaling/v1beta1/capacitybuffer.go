package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kerf-sh/kerf/api/status"
)

// CapacityBuffer asks that room be kept for a number of pods beyond those that exist.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=capacitybuffers,scope=Namespaced,categories=autoscaling,shortName={cb}
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Strategy",type="string",JSONPath=".status.provisioningStrategy",description="How the room is kept"
// +kubebuilder:printcolumn:name="Replicas",type="integer",JSONPath=".status.replicas",description="Number of pods that room is kept for"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
type CapacityBuffer struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// How much room is kept, and of what shape.
	// +kubebuilder:validation:XValidation:rule="!has(self.podTemplateRef) || !has(self.scalableRef)",message="set 'podTemplateRef' or 'scalableRef', not both"
	// +kubebuilder:validation:XValidation:rule="!has(self.podTemplateRef) || has(self.replicas) || has(self.limits)",message="'podTemplateRef' needs 'replicas' or 'limits' to know how many pods are meant"
	// +required
	Spec CapacityBufferSpec `json:"spec"`
	// What was made of it.
	// +optional
	Status CapacityBufferStatus `json:"status,omitempty"`
}

// CapacityBufferList is a list of CapacityBuffers.
//
// +kubebuilder:object:root=true
type CapacityBufferList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []CapacityBuffer `json:"items"`
}

// ProvisioningStrategyActiveCapacity keeps room on running nodes.
const ProvisioningStrategyActiveCapacity = "buffer.x-k8s.io/active-capacity"

// CapacityBufferSpec says how much room is kept, and of what shape.
type CapacityBufferSpec struct {
	// How the room is kept. buffer.x-k8s.io/active-capacity keeps it on running nodes.
	// +kubebuilder:default="buffer.x-k8s.io/active-capacity"
	// +optional
	ProvisioningStrategy *string `json:"provisioningStrategy,omitempty"`
	// PodTemplate in the same namespace that gives the pods' shape.
	// +optional
	PodTemplateRef *LocalObjectRef `json:"podTemplateRef,omitempty"`
	// Workload with a scale sub-resource in the same namespace whose pods give the shape.
	// +optional
	ScalableRef *ScalableRef `json:"scalableRef,omitempty"`
	// Number of pods to keep room for. With percentage, the larger number counts.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
	// Number of pods to keep room for, as a percentage of the workload's replicas. With replicas,
	// the larger number counts.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Percentage *int32 `json:"percentage,omitempty"`
	// Upper bounds on the sum of the resources that the room may take.
	// +optional
	Limits corev1.ResourceList `json:"limits,omitempty"`
}

// LocalObjectRef names an object in the same namespace.
type LocalObjectRef struct {
	// Name of the object.
	// +kubebuilder:validation:MinLength=1
	// +required
	Name string `json:"name"`
}

// ScalableRef names a workload in the same namespace.
type ScalableRef struct {
	// API group of the workload; empty is the core group.
	// +optional
	APIGroup string `json:"apiGroup,omitempty"`
	// Kind of the workload.
	// +kubebuilder:validation:MinLength=1
	// +required
	Kind string `json:"kind"`
	// Name of the workload.
	// +kubebuilder:validation:MinLength=1
	// +required
	Name string `json:"name"`
}

// CapacityBufferStatus is what was made of a CapacityBuffer.
type CapacityBufferStatus struct {
	// PodTemplate that gave the pods' shape.
	// +optional
	PodTemplateRef *LocalObjectRef `json:"podTemplateRef,omitempty"`
	// Generation of that PodTemplate.
	// +optional
	PodTemplateGeneration *int64 `json:"podTemplateGeneration,omitempty"`
	// Number of pods that room is kept for.
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
	// Strategy in use.
	// +optional
	ProvisioningStrategy *string `json:"provisioningStrategy,omitempty"`
	// State of the buffer, one observation per type.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []status.Condition `json:"conditions,omitempty"`
}

// Condition types of CapacityBuffer.
const (
	ConditionTypeReadyForProvisioning = "ReadyForProvisioning"
	ConditionTypeProvisioning         = "Provisioning"
	// ConditionTypeLimitedByQuotas is part of the API; Kerf does not look at quotas and never writes it.
	ConditionTypeLimitedByQuotas = "LimitedByQuotas"
)

// Reasons of CapacityBuffer conditions.
const (
	ReasonResolved                = "Resolved"
	ReasonScalableRefNotFound     = "ScalableRefNotFound"
	ReasonPodTemplateNotFound     = "PodTemplateNotFound"
	ReasonResolutionFailed        = "ResolutionFailed"
	ReasonFitsExistingCapacity    = "FitsExistingCapacity"
	ReasonRequiresNewCapacity     = "RequiresNewCapacity"
	ReasonNotReadyForProvisioning = "NotReadyForProvisioning"
	ReasonBufferEmpty             = "BufferEmpty"
)

// GetConditions returns the conditions as stored.
func (b *CapacityBuffer) GetConditions() []status.Condition { return b.Status.Conditions }

// SetConditions replaces the conditions.
func (b *CapacityBuffer) SetConditions(c []status.Condition) { b.Status.Conditions = c }

// StatusConditions returns the condition set of b. A CapacityBuffer has no root condition.
func (b *CapacityBuffer) StatusConditions() status.Set { return status.Rootless(b) }
