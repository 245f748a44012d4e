// Package v1alpha1 holds the NodeOverlay API of group karpenter.sh, which adjusts the price and
// capacity of instance types.
//
// +kubebuilder:object:generate=true
// +groupName=karpenter.sh
package v1alpha1
