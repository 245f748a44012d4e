// Package v1 holds the NodePool and NodeClaim API of group karpenter.sh: types, names, hashes,
// runtime validation and conditions. It is wire-compatible with Karpenter's v1 API.
//
// +kubebuilder:object:generate=true
// +groupName=karpenter.sh
package v1
