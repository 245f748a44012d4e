// Package rbac holds the controller's rights in the cluster: what it always needs, and what it needs with features that are
// switched on. The roles are generated from the markers below and in the packages below this one; the local cluster, "kerf
// manifests" and the chart take them from here, so that tests run with exactly what users grant.
package rbac

import _ "embed"

// What the controller reads.
// +kubebuilder:rbac:groups=karpenter.sh,resources=nodepools;nodeclaims,verbs=get;list;watch
// +kubebuilder:rbac:groups=karpenter.k8s.aws,resources=ec2nodeclasses,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=pods;nodes;namespaces;persistentvolumes;persistentvolumeclaims,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=services,resourceNames=kube-dns,verbs=get
// +kubebuilder:rbac:groups="",resources=replicationcontrollers,verbs=get
// +kubebuilder:rbac:groups=apps,resources=daemonsets,verbs=get;list;watch
// +kubebuilder:rbac:groups=apps,resources=replicasets;statefulsets,verbs=get
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get
// +kubebuilder:rbac:groups=storage.k8s.io,resources=storageclasses;csinodes;volumeattachments,verbs=get;list;watch
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=get;list;watch

// What it writes: always patches. The finalizers sub-resources allow owner references that block deletion.
// +kubebuilder:rbac:groups=karpenter.sh,resources=nodeclaims,verbs=create;delete;patch
// +kubebuilder:rbac:groups=karpenter.sh,resources=nodeclaims/status;nodepools/status,verbs=patch
// +kubebuilder:rbac:groups=karpenter.sh,resources=nodepools,verbs=patch
// +kubebuilder:rbac:groups=karpenter.sh,resources=nodepools/finalizers;nodeclaims/finalizers,verbs=update
// +kubebuilder:rbac:groups=karpenter.k8s.aws,resources=ec2nodeclasses;ec2nodeclasses/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=nodes,verbs=patch;delete
// +kubebuilder:rbac:groups="",resources=pods,verbs=delete
// +kubebuilder:rbac:groups="",resources=pods/eviction,verbs=create
// +kubebuilder:rbac:groups="",resources=pods/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Whose the token of a request for decisions is, and whether that user may read them. Neither is stored.
// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create

// Leader election, in the controller's own namespace.
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=kube-system,resources=leases,verbs=get;create;update

// What it learned of nodes' memory, in the controller's own namespace. A right to create can't be narrowed to a name.
// +kubebuilder:rbac:groups="",namespace=kube-system,resources=configmaps,resourceNames=kerf-guest-memory,verbs=get;update
// +kubebuilder:rbac:groups="",namespace=kube-system,resources=configmaps,verbs=create

// YAML is the ClusterRole and the Role, without bindings: who is bound is the installation's choice.
//
//go:embed role.yaml
var YAML []byte

// Viewer is the ClusterRole of those who may read decisions, and the Role of what commands need to reach them.
//
//go:embed viewer/role.yaml
var Viewer []byte

// Overlays, Buffers and Spreads are ClusterRoles of what features need besides: the gates NodeOverlay and CapacityBuffer, and
// the setting --scheduler-config.
var (
	//go:embed overlays/role.yaml
	Overlays []byte
	//go:embed buffers/role.yaml
	Buffers []byte
	//go:embed spreads/role.yaml
	Spreads []byte
)
