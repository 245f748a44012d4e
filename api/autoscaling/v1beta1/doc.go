// Package v1beta1 holds the CapacityBuffer API of group autoscaling.x-k8s.io, which asks for room
// for pods that do not exist yet.
//
// +kubebuilder:object:generate=true
// +groupName=autoscaling.x-k8s.io
package v1beta1
