package v1

import corev1 "k8s.io/api/core/v1"

// Labels.
const (
	// NodePoolLabelKey names the NodePool that a NodeClaim or Node belongs to.
	NodePoolLabelKey = Group + "/nodepool"
	// CapacityTypeLabelKey tells how a Node is paid for; see the CapacityType constants.
	CapacityTypeLabelKey = Group + "/capacity-type"
	// NodeRegisteredLabelKey is "true" on a Node that was matched with its NodeClaim.
	NodeRegisteredLabelKey = Group + "/registered"
	// NodeInitializedLabelKey is "true" on a Node that is ready for disruption decisions.
	NodeInitializedLabelKey = Group + "/initialized"
	// DoNotSyncTaintsLabelKey is "true" on a Node whose boot already applied the NodeClaim's taints.
	DoNotSyncTaintsLabelKey = Group + "/do-not-sync-taints"
	// ExcludeBalancersLabelKey takes a draining Node out of external load balancers.
	ExcludeBalancersLabelKey = corev1.LabelNodeExcludeBalancers
	// ExcludeBalancersLabelValue is the value written for ExcludeBalancersLabelKey.
	ExcludeBalancersLabelValue = "karpenter"
)

// Values of CapacityTypeLabelKey.
const (
	CapacityTypeOnDemand = "on-demand"
	CapacityTypeSpot     = "spot"
	CapacityTypeReserved = "reserved"
)

// Values of the architecture label.
const (
	ArchitectureAMD64 = "amd64"
	ArchitectureARM64 = "arm64"
)

// Annotations.
const (
	// DoNotDisruptAnnotationKey holds off voluntary disruption: on a Node the exact value "true",
	// on a Pod "true" or a duration counted from the pod's start.
	DoNotDisruptAnnotationKey = Group + "/do-not-disrupt"
	// NodePoolHashAnnotationKey holds the hash of the NodePool template; see NodePool.Hash.
	NodePoolHashAnnotationKey = Group + "/nodepool-hash"
	// NodePoolHashVersionAnnotationKey holds the version of the way the hash is computed.
	NodePoolHashVersionAnnotationKey = Group + "/nodepool-hash-version"
	// NodeClaimTerminationTimestampAnnotationKey holds the moment (RFC 3339) after which a
	// terminating NodeClaim no longer waits for its pods.
	NodeClaimTerminationTimestampAnnotationKey = Group + "/nodeclaim-termination-timestamp"
	// NodeClaimMinValuesRelaxedAnnotationKey is "true" or "false" on every NodeClaim made for pods.
	NodeClaimMinValuesRelaxedAnnotationKey = Group + "/nodeclaim-min-values-relaxed"
	// RequestedDRADriversAnnotationKey lists, sorted and comma-separated, the DRA drivers needed.
	RequestedDRADriversAnnotationKey = Group + "/requested-dra-drivers"
	// PriceOverlayAppliedAnnotationKey is "true" when an overlay changed the price of a candidate type.
	PriceOverlayAppliedAnnotationKey = Group + "/price-overlay-applied"
	// CapacityOverlayAppliedAnnotationKey is "true" when an overlay changed the capacity of a candidate type.
	CapacityOverlayAppliedAnnotationKey = Group + "/capacity-overlay-applied"
	// ProviderCompatibilityAnnotationKey is a left-over of older releases; read, never written.
	ProviderCompatibilityAnnotationKey = "compatibility.karpenter.sh/provider"

	// CapacityBufferFakePodAnnotationKey marks the virtual pods of a CapacityBuffer, which exist in memory only.
	CapacityBufferFakePodAnnotationKey = Group + "/capacity-buffer-fake-pod"
	// CapacityBufferNameAnnotationKey names the CapacityBuffer of a virtual pod.
	CapacityBufferNameAnnotationKey = Group + "/capacity-buffer-name"
	// CapacityBufferNamespaceAnnotationKey names the namespace of the CapacityBuffer of a virtual pod.
	CapacityBufferNamespaceAnnotationKey = Group + "/capacity-buffer-namespace"

	// PodDeletionCostAnnotationKey is the cost of deleting a pod, as ReplicaSets know it.
	PodDeletionCostAnnotationKey = corev1.PodDeletionCost
	// PVBindCompletedAnnotationKey is on a PersistentVolumeClaim whose binding is complete.
	PVBindCompletedAnnotationKey = "pv.kubernetes.io/bind-completed"
)

// NodePoolHashVersion is the version of NodePool.Hash. It changes whenever the same stored
// NodePool would hash to another value.
const NodePoolHashVersion = "v3"

// TerminationFinalizer is on every NodeClaim and on every Node that belongs to one.
const TerminationFinalizer = Group + "/termination"

// Taint keys.
const (
	// DisruptedTaintKey keeps new pods off a Node that is going away.
	DisruptedTaintKey = Group + "/disrupted"
	// UnregisteredTaintKey is placed by the Node's boot and removed at registration.
	UnregisteredTaintKey = Group + "/unregistered"
)

// DisruptedNoScheduleTaint returns the taint of a Node that is going away.
func DisruptedNoScheduleTaint() corev1.Taint {
	return corev1.Taint{Key: DisruptedTaintKey, Effect: corev1.TaintEffectNoSchedule}
}

// UnregisteredNoExecuteTaint returns the taint that a Node must boot with.
func UnregisteredNoExecuteTaint() corev1.Taint {
	return corev1.Taint{Key: UnregisteredTaintKey, Effect: corev1.TaintEffectNoExecute}
}

// ResourceNodes is the pseudo-resource that counts Nodes in limits and in NodePool status.
const ResourceNodes corev1.ResourceName = "nodes"
