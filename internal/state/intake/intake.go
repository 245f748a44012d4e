// Package intake turns Kubernetes API objects into the values of package cluster. It is the only package that reads the
// fields of core API objects for a decision: what it does not read, no decision can depend on.
package intake

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// Lookup answers what a pod's meaning depends on besides the pod itself. Answers are nil when the object is not known.
type Lookup interface {
	PersistentVolumeClaim(namespace, name string) *corev1.PersistentVolumeClaim
	PersistentVolume(name string) *corev1.PersistentVolume
	StorageClass(name string) *storagev1.StorageClass
	// UserOf is the name of a pod with a node, besides that of the UID, that uses the claim and does not end soon; empty where
	// there is none. Of several it is the first by name.
	UserOf(namespace, claim string, besides types.UID) string
	// HasHost reports whether a Node has that value of the label kubernetes.io/hostname.
	HasHost(name string) bool
	// HasNode reports whether there is a Node of that name.
	HasNode(name string) bool
	// SelectNamespaces returns the sorted names of the namespaces whose labels match.
	SelectNamespaces(labels.Selector) []string
}

// NoLookup is a Lookup that knows of nothing.
type NoLookup struct{}

// PersistentVolumeClaim returns nil.
func (NoLookup) PersistentVolumeClaim(string, string) *corev1.PersistentVolumeClaim { return nil }

// PersistentVolume returns nil.
func (NoLookup) PersistentVolume(string) *corev1.PersistentVolume { return nil }

// StorageClass returns nil.
func (NoLookup) StorageClass(string) *storagev1.StorageClass { return nil }

// UserOf returns nothing.
func (NoLookup) UserOf(string, string, types.UID) string { return "" }

// HasHost returns false.
func (NoLookup) HasHost(string) bool { return false }

// HasNode returns false.
func (NoLookup) HasNode(string) bool { return false }

// SelectNamespaces returns nil.
func (NoLookup) SelectNamespaces(labels.Selector) []string { return nil }
