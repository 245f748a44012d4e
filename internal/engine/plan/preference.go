package plan

import (
	"fmt"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
)

// PreferenceKind is the kind of a preference; the set is closed.
type PreferenceKind string

// The preferences that a pod may have.
const (
	PreferNode     PreferenceKind = "NodeAffinity"    // preferred node affinity
	PreferTogether PreferenceKind = "PodAffinity"     // preferred pod affinity
	PreferApart    PreferenceKind = "PodAntiAffinity" // preferred pod anti-affinity
	PreferSpread   PreferenceKind = "Spread"          // a topology spread constraint with ScheduleAnyway
	PreferTaint    PreferenceKind = "PreferNoSchedule"
)

// Preference is a preference that a plan does not honour, with what it would cost to do so.
type Preference struct {
	ClassID string         `json:"classID"`
	Kind    PreferenceKind `json:"kind"`
	// Key is the label that it is about, Want what it asks for; both empty for PreferNoSchedule.
	Key  string `json:"key,omitempty"`
	Want string `json:"want,omitempty"`
	// Pods of the class, and one of them by name.
	Pods int            `json:"pods"`
	Such cluster.PodRef `json:"such"`
	// Cost of honouring it, in addition, per hour. AtLeast: no plan that honours it was made, it can't cost less.
	Cost    catalog.MicroUSD `json:"cost"`
	AtLeast bool             `json:"atLeast,omitempty"`
	// Blocked: honouring it would leave pods without a node.
	Blocked bool `json:"blocked,omitempty"`
}

// Text words the preference for people; its cost is in a currency.
func (w Preference) Text(in catalog.Currency) string {
	who := w.Such.String()
	if w.Pods > 1 {
		who = fmt.Sprintf("%d pods such as %s", w.Pods, who)
	}
	cost := "would cost " + in.Amount(w.Cost) + "/h more"
	switch {
	case w.Blocked:
		cost = "would leave pods without a node"
	case w.AtLeast:
		cost = "would cost at least " + in.Amount(w.Cost) + "/h more"
	}
	return fmt.Sprintf("%s: %s; honouring it %s", who, w.what(), cost)
}

func (w Preference) what() string {
	switch w.Kind {
	case PreferNode:
		return "preferred node affinity " + w.Want
	case PreferTogether:
		return fmt.Sprintf("preferred to be in one %s with %s", w.Key, w.Want)
	case PreferApart:
		return fmt.Sprintf("preferred to be in another %s than %s", w.Key, w.Want)
	case PreferSpread:
		return fmt.Sprintf("even spread over %s (%s) if possible", w.Key, w.Want)
	case PreferTaint:
		return "off nodes with a taint of effect PreferNoSchedule"
	}
	return string(w.Kind)
}
