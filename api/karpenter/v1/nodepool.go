package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kerf-sh/kerf/api/status"
)

// NodePool says which nodes may be launched for pods, how many, and when they may be replaced.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=nodepools,scope=Cluster,categories=karpenter
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.nodes
// +kubebuilder:printcolumn:name="NodeClass",type="string",JSONPath=".spec.template.spec.nodeClassRef.name",description="Node class of the pool's nodes"
// +kubebuilder:printcolumn:name="Nodes",type="string",JSONPath=".status.nodes",description="Number of nodes in the pool"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description="Whether the pool can be used"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
// +kubebuilder:printcolumn:name="Weight",type="integer",JSONPath=".spec.weight",priority=1,description="Preference of this pool over others"
// +kubebuilder:printcolumn:name="CPU",type="string",JSONPath=".status.resources.cpu",priority=1,description="CPU of the pool's nodes"
// +kubebuilder:printcolumn:name="Memory",type="string",JSONPath=".status.resources.memory",priority=1,description="Memory of the pool's nodes"
type NodePool struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What the pool may launch and how it treats what it launched.
	// +required
	// +kubebuilder:validation:XValidation:rule="has(self.replicas) == has(oldSelf.replicas)",message="a NodePool cannot change between static (replicas set) and dynamic (replicas unset); create another NodePool"
	// +kubebuilder:validation:XValidation:rule="!has(self.replicas) || !has(self.limits) || self.limits.size() == 0 || (self.limits.size() == 1 && 'nodes' in self.limits)",message="a static NodePool (replicas set) may limit 'nodes' only"
	// +kubebuilder:validation:XValidation:rule="!has(self.replicas) || !has(self.weight)",message="a static NodePool (replicas set) cannot have a weight"
	Spec NodePoolSpec `json:"spec"`
	// What controllers found out about the pool.
	// +optional
	Status NodePoolStatus `json:"status,omitempty"`
}

// NodePoolList is a list of NodePools.
//
// +kubebuilder:object:root=true
type NodePoolList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NodePool `json:"items"`
}

// NodePoolSpec is the wanted state of a NodePool.
type NodePoolSpec struct {
	// Shape of the NodeClaims that the pool makes. A change of labels, annotations, taints, startupTaints,
	// nodeClassRef, expireAfter or terminationGracePeriod replaces the pool's nodes; a change of
	// requirements replaces those nodes that no longer meet them.
	// +required
	Template NodeClaimTemplate `json:"template"`
	// When and how fast nodes of the pool may be disrupted.
	// +kubebuilder:default={"consolidateAfter": "0s"}
	// +optional
	Disruption Disruption `json:"disruption,omitzero"`
	// Upper bounds on the sum of the resources of the pool's nodes, such as cpu, memory or
	// nvidia.com/gpu. The resource "nodes" bounds their number. A node that would exceed a bound is not
	// launched; nodes that are there already are not removed for it. Unset: no bounds.
	// +optional
	Limits Limits `json:"limits,omitempty"`
	// Preference over other pools: a pod gets a node of the pool of the highest weight that can carry it,
	// also where another pool's would be cheaper. Unset counts as 0.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +optional
	Weight *int32 `json:"weight,omitempty"`
	// Fixed number of nodes to keep, whatever the pods need. Makes the pool static: it launches nothing for
	// pods, and its nodes are not consolidated. Needs the feature gate StaticCapacity. Unset: the pool
	// launches what pods need.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Replicas *int64 `json:"replicas,omitempty"`
}

// IsStatic reports whether the pool keeps a fixed number of nodes.
func (p *NodePool) IsStatic() bool { return p.Spec.Replicas != nil }

// NodeClaimTemplate is what NodeClaims of a pool are made from.
type NodeClaimTemplate struct {
	// Labels and annotations that nodes of the pool get.
	// +optional
	ObjectMeta `json:"metadata,omitempty"`
	// Wanted state of the NodeClaims.
	// +required
	Spec NodeClaimTemplateSpec `json:"spec"`
}

// ObjectMeta holds the metadata that a template can give.
type ObjectMeta struct {
	// Labels put on the pool's nodes, which pods can select.
	// +kubebuilder:validation:MaxProperties=100
	// +kubebuilder:validation:XValidation:rule="self.all(k, k in ['karpenter.sh/capacity-type', 'karpenter.sh/nodepool'] || !k.find('^([^/]+)').endsWith('karpenter.sh'))",message="label domain \"karpenter.sh\" is restricted: only karpenter.sh/capacity-type may be set"
	// +kubebuilder:validation:XValidation:rule="self.all(k, k != 'karpenter.sh/nodepool')",message="label \"karpenter.sh/nodepool\" is restricted: it is always the name of the NodePool"
	// +kubebuilder:validation:XValidation:rule="self.all(k, k != 'kubernetes.io/hostname')",message="label \"kubernetes.io/hostname\" is restricted: every node has its own"
	// +optional
	Labels map[string]string `json:"labels,omitzero"`
	// Annotations put on the pool's nodes.
	// +optional
	Annotations map[string]string `json:"annotations,omitzero"`
}

// NodeClaimTemplateSpec is the wanted state of the NodeClaims of a pool.
type NodeClaimTemplateSpec struct {
	// Taints of the nodes: only pods that tolerate them get nodes of the pool.
	// +listType=atomic
	// +optional
	Taints []corev1.Taint `json:"taints,omitzero"`
	// Taints that the nodes start with and that something else removes. Pods need no toleration,
	// and the node counts as not yet initialized while they remain.
	// +listType=atomic
	// +optional
	StartupTaints []corev1.Taint `json:"startupTaints,omitzero"`
	// What nodes may look like, by their labels: instance types, families, sizes, zones, architectures,
	// capacity types, and labels of your own. Every item must hold. What no item speaks of is free.
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:XValidation:rule="self.all(x, x.operator != 'In' || (has(x.values) && x.values.size() != 0))",message="operator 'In' needs 'values'"
	// +kubebuilder:validation:XValidation:rule="self.all(x, !(x.operator in ['Gt', 'Lt', 'Gte', 'Lte']) || (has(x.values) && x.values.size() == 1 && int(x.values[0]) >= 0))",message="operators 'Gt', 'Lt', 'Gte' and 'Lte' need exactly one value, a non-negative integer"
	// +kubebuilder:validation:XValidation:rule="self.all(x, x.operator != 'In' || !has(x.minValues) || (has(x.values) && x.values.size() >= x.minValues))",message="operator 'In' with 'minValues' needs at least that many values"
	// +kubebuilder:validation:XValidation:rule="self.all(x, x.key != 'karpenter.sh/nodepool')",message="label \"karpenter.sh/nodepool\" is restricted: it is always the name of the NodePool"
	// +listType=atomic
	// +required
	Requirements []NodeSelectorRequirementWithMinValues `json:"requirements"`
	// The object with the cloud's settings for these nodes: on AWS an EC2NodeClass. Group and kind cannot
	// change.
	// +kubebuilder:validation:XValidation:rule="self.group == oldSelf.group",message="nodeClassRef.group is immutable; create another NodePool"
	// +kubebuilder:validation:XValidation:rule="self.kind == oldSelf.kind",message="nodeClassRef.kind is immutable; create another NodePool"
	// +required
	NodeClassRef *NodeClassReference `json:"nodeClassRef"`
	// How long a node may take to drain before its pods are deleted without regard to
	// PodDisruptionBudgets and karpenter.sh/do-not-disrupt. Unset waits for ever.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+(s|m|h))+$`
	// +optional
	TerminationGracePeriod *Duration `json:"terminationGracePeriod,omitempty"`
	// Age at which a node is removed in any case: disruption budgets and karpenter.sh/do-not-disrupt do not
	// keep it. Never: no node is removed for its age.
	// +kubebuilder:default="720h"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^(([0-9]+(s|m|h))+|Never)$`
	// +optional
	ExpireAfter NillableDuration `json:"expireAfter,omitzero"`
}

// NodeClassReference points at the object with the cloud's settings.
type NodeClassReference struct {
	// Kind of the node class.
	// +kubebuilder:validation:XValidation:rule="self != ''",message="kind may not be empty"
	// +required
	Kind string `json:"kind"`
	// Name of the node class.
	// +kubebuilder:validation:XValidation:rule="self != ''",message="name may not be empty"
	// +required
	Name string `json:"name"`
	// API group of the node class, without a version.
	// +kubebuilder:validation:XValidation:rule="self != ''",message="group may not be empty"
	// +kubebuilder:validation:Pattern=`^[^/]*$`
	// +required
	Group string `json:"group"`
}

// NodePoolStatus is what controllers found out about a NodePool.
type NodePoolStatus struct {
	// Sum of the resources of the pool's nodes, with their number as "nodes".
	// +optional
	Resources corev1.ResourceList `json:"resources,omitempty"`
	// Number of nodes in the pool.
	// +kubebuilder:default=0
	// +optional
	Nodes *int64 `json:"nodes,omitempty"`
	// Generation of the node class for which NodeRegistrationHealthy holds.
	// +optional
	NodeClassObservedGeneration int64 `json:"nodeClassObservedGeneration,omitempty"`
	// State of the pool, one observation per type.
	// +optional
	Conditions []status.Condition `json:"conditions,omitempty"`
}
