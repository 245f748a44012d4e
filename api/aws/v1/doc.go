// Package v1 holds the EC2NodeClass API of group karpenter.k8s.aws: types, names, hash, AMI alias
// and conditions. It is wire-compatible with the v1 API of Karpenter's AWS provider.
//
// +kubebuilder:object:generate=true
// +groupName=karpenter.k8s.aws
package v1
