// Package status holds the condition type that Kerf's API objects carry and the rules by which a
// condition set changes: dependents start as Unknown, transition times move only when a status
// flips, and a root condition sums its dependents up.
package status

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Ready is the root condition of every kind that has dependents.
const Ready = "Ready"

// Reasons that the set itself writes.
const (
	// ReasonAwaitingReconciliation is on a dependent that no controller has written yet.
	ReasonAwaitingReconciliation = "AwaitingReconciliation"
	// ReasonReconcilingDependents is on an Unknown root: nothing is False, something is not yet True.
	ReasonReconcilingDependents = "ReconcilingDependents"
	// ReasonUnhealthyDependents is on a False root: at least one dependent is False.
	ReasonUnhealthyDependents = "UnhealthyDependents"
)

// Condition is one observation about an object. It has the fields of metav1.Condition and converts
// to it, but the schema is laxer: objects written by older controllers may lack reason and message.
//
// +k8s:deepcopy-gen=true
type Condition struct {
	// Name of the condition, in CamelCase or as a qualified name.
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$`
	// +kubebuilder:validation:MaxLength=316
	// +required
	Type string `json:"type"`
	// Whether the condition holds: True, False or Unknown.
	// +kubebuilder:validation:Enum=True;False;Unknown
	// +required
	Status metav1.ConditionStatus `json:"status"`
	// Generation of the object that this observation is about. When it is smaller than
	// metadata.generation, the observation is stale.
	// +kubebuilder:validation:Minimum=0
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// When the status last changed from one value to another.
	// +required
	LastTransitionTime metav1.Time `json:"lastTransitionTime"`
	// Machine-readable cause of the last transition, in CamelCase. May be empty.
	// +kubebuilder:validation:Pattern=`^([A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?|)$`
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Reason string `json:"reason"`
	// Details for a human reader. May be empty.
	// +kubebuilder:validation:MaxLength=32768
	// +optional
	Message string `json:"message"`
}

// IsTrue reports whether c is present and True.
func (c *Condition) IsTrue() bool { return c != nil && c.Status == metav1.ConditionTrue }

// IsFalse reports whether c is present and False.
func (c *Condition) IsFalse() bool { return c != nil && c.Status == metav1.ConditionFalse }

// IsUnknown reports whether c is absent or Unknown.
func (c *Condition) IsUnknown() bool { return !c.IsTrue() && !c.IsFalse() }
