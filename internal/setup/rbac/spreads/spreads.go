// Package spreads holds the rights in the cluster that the controller needs besides where --scheduler-config gives pods
// spread constraints: the scheduler finds their selectors in what the pods belong to. The role is generated from the markers
// below.
package spreads

// +kubebuilder:rbac:groups="",resources=services;replicationcontrollers,verbs=get;list;watch
// +kubebuilder:rbac:groups=apps,resources=replicasets;statefulsets,verbs=get;list;watch
