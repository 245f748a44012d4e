// Package requirement is the algebra of label requirements: sets over label values that are given by In, NotIn, Exists,
// DoesNotExist and integer bounds, and their intersection.
//
// A Term is the readable form, as a user writes it. The interned form works on small integers handed out by a Vocabulary
// and is what the engine computes with.
package requirement

import "slices"

// Operator is the relation of a Term; the words are those of the Kubernetes node selector and the NodePool API.
type Operator string

// The operators of the NodePool API. Gt and Lt are exclusive, Gte and Lte inclusive integer bounds.
const (
	In           Operator = "In"
	NotIn        Operator = "NotIn"
	Exists       Operator = "Exists"
	DoesNotExist Operator = "DoesNotExist"
	Gt           Operator = "Gt"
	Lt           Operator = "Lt"
	Gte          Operator = "Gte"
	Lte          Operator = "Lte"
)

// Term is one requirement on one label key.
type Term struct {
	Key      string   `json:"key"`
	Operator Operator `json:"operator"`
	Values   []string `json:"values,omitempty"`
	// MinValues is the least number of distinct values that must stay possible for the key; 0 means no such demand.
	MinValues int `json:"minValues,omitempty"`
}

// Equal reports whether the terms say the same in the same words.
func (t Term) Equal(o Term) bool {
	return t.Key == o.Key && t.Operator == o.Operator && t.MinValues == o.MinValues && slices.Equal(t.Values, o.Values)
}
