// Package reader holds the rights in the cluster of kerf plan and of kerf controller --shadow: to read what a decision is
// made of, to ask who may read the shadow's page, and nothing else. The role is generated from the markers below.
package reader

import _ "embed"

// +kubebuilder:rbac:groups=karpenter.sh,resources=nodepools;nodeclaims;nodeoverlays,verbs=get;list;watch
// +kubebuilder:rbac:groups=karpenter.k8s.aws,resources=ec2nodeclasses,verbs=get;list;watch
// +kubebuilder:rbac:groups=autoscaling.x-k8s.io,resources=capacitybuffers,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=pods;nodes;namespaces;persistentvolumes;persistentvolumeclaims;replicationcontrollers;services;podtemplates,verbs=get;list;watch
// +kubebuilder:rbac:groups=apps,resources=daemonsets;deployments;replicasets;statefulsets,verbs=get;list;watch
// +kubebuilder:rbac:groups=storage.k8s.io,resources=storageclasses;csinodes;volumeattachments,verbs=get;list;watch
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=get;list;watch
// A shadow run asks whose the token of a request for its page is, and whether that user may read it. Neither is stored.
// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create

// YAML is the ClusterRole, without bindings: who is bound is the installation's choice.
//
//go:embed role.yaml
var YAML []byte
