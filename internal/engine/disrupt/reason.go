package disrupt

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/kerf-sh/kerf/internal/engine/plan"
)

// Code is the kind of a Reason; the set is closed, and every Code is worded once, in Reason.Text.
type Code string

// The reasons that the caller finds.
const (
	NotInitialized   Code = "NotInitialized"
	Deleting         Code = "Deleting"
	InProgress       Code = "InProgress"          // part of a move that is under way
	Nominated        Code = "Nominated"           // pods are expected on the node
	DoNotDisrupt     Code = "DoNotDisrupt"        // the node's annotation, or the pod's when Pod is set
	DisruptionBudget Code = "PodDisruptionBudget" // Pod is protected; Want: by which budget, as namespace/name; empty: by several, as Detail says
	// ConsolidateAfter has not passed yet (Detail: how much is left), or is Never.
	ConsolidateAfter Code = "ConsolidateAfter"
	NoConsolidation  Code = "NoConsolidation"
	NoPool           Code = "NoPool"
	NotReady         Code = "NotReady"
	Held             Code = "Held"  // for what a move has done to it (Detail: what); Want: until when
	Other            Code = "Other" // Detail says it
)

// The reasons that Decide finds.
const (
	StaticPool     Code = "StaticPool"
	PolicyForbids  Code = "PolicyForbids" // WhenEmpty, and the node is not empty
	BudgetUsed     Code = "BudgetUsed"
	PendingPods    Code = "PendingPods"
	TakesPods      Code = "TakesPods"      // pods of another move come to the node
	PodHasNoPlace  Code = "PodHasNoPlace"  // Pod fits on no other node, and no new node can be launched for it
	NotCheaper     Code = "NotCheaper"     // Have: what the cheapest way to carry its pods would cost
	SavesTooLittle Code = "SavesTooLittle" // than the preferences are worth that its pods would lose
	NotPaidBack    Code = "NotPaidBack"    // moving would cost more than it saves in the time left
	NotBalanced    Code = "NotBalanced"    // the policy Balanced, Have: percent of the share that is demanded
	SpotToSpotOff  Code = "SpotToSpotOff"  // Have: what new spot instances would save; Want: the number of nodes that would go with it
	FewSpotTypes   Code = "FewSpotTypes"   // Want, Have: numbers of cheaper types
	FewValues      Code = "FewValues"      // minValues would not be met
	PoolLimit      Code = "PoolLimit"
	NoAddresses    Code = "NoAddresses" // Have: the zone
	OthersFollow   Code = "OthersFollow"
	PriceUnknown   Code = "PriceUnknown"
	NotLookedAt    Code = "NotLookedAt" // the work budget ended
)

// Reason says why a node stays.
type Reason struct {
	Code   Code   `json:"code"`
	Pod    string `json:"pod,omitempty"` // namespace/name, or the class when it stands for all of its pods
	Want   string `json:"want,omitempty"`
	Have   string `json:"have,omitempty"`
	Detail string `json:"detail,omitempty"`
	// Cost is what the move is assumed to cost (NotPaidBack); Want is then what it must save, Have what it would.
	Cost string `json:"cost,omitempty"`
}

// texts word the reasons that say the same of every node.
var texts = map[Code]string{
	NotInitialized:  "it is not initialized",
	Deleting:        "it is being deleted",
	InProgress:      "it is part of a move that is under way",
	Nominated:       "pods are expected on it",
	NoConsolidation: "its pool's consolidateAfter is Never",
	NoPool:          "its pool is not known",
	NotReady:        "it is not ready",
	StaticPool:      "its pool keeps a fixed number of nodes",
	PolicyForbids:   "its pool consolidates empty nodes only, and it is not empty",
	BudgetUsed:      "its pool's disruption budget is used up",
	PendingPods:     "pending pods are to be placed on it",
	TakesPods:       "pods of other nodes are moved to it",
	FewValues:       "the cheaper types do not meet the pool's minValues",
	PoolLimit:       "its pool's limit leaves no room for a replacement beside it",
	OthersFollow:    "other pods are moved to where they may be only while its pods stay",
	PriceUnknown:    "its price is not known",
	NotLookedAt:     "the budget of work ended before it was looked at",
}

// Text is the reason as one clause, without a full stop.
func (r Reason) Text() string {
	text := r.clause()
	if r.Detail != "" && r.Code != ConsolidateAfter && r.Code != Other {
		text += " (" + r.Detail + ")"
	}
	return text
}

func (r Reason) clause() string {
	switch r.Code {
	case DoNotDisrupt:
		if r.Pod != "" {
			return fmt.Sprintf("pod %s asks not to be disrupted", r.Pod)
		}
		return "its annotation asks not to disrupt it"
	case DisruptionBudget:
		if r.Want != "" {
			return fmt.Sprintf("PodDisruptionBudget %s keeps pod %s from being evicted", r.Want, r.Pod)
		}
		if r.Detail == "" {
			return fmt.Sprintf("a PodDisruptionBudget keeps pod %s from being evicted", r.Pod)
		}
		return fmt.Sprintf("pod %s can't be evicted", r.Pod) // Detail says why
	case ConsolidateAfter:
		if r.Detail == "" {
			return "its pool's consolidateAfter has not passed"
		}
		return fmt.Sprintf("its pool's consolidateAfter has not passed: %s left", r.Detail)
	case Held:
		return fmt.Sprintf("it is held until %s", r.Want)
	case PodHasNoPlace:
		return fmt.Sprintf("pod %s fits on no other node, and no instance can be launched for it", r.Pod)
	case NotCheaper:
		return fmt.Sprintf("carrying its pods would cost %s/h otherwise, and it costs %s/h, disks included", r.Have, r.Want)
	case SavesTooLittle:
		return fmt.Sprintf("replacing it would save %s/h, less than the %s/h that is asked", r.Have, r.Want)
	case NotPaidBack:
		return fmt.Sprintf("moving its pods is assumed to cost %s, so it must save %d times that, %s; it would save %s in the time left", r.Cost, margin, r.Want, r.Have)
	case NotBalanced:
		return fmt.Sprintf("its saving is %s%% of what the policy Balanced asks for its disruption", r.Have)
	case SpotToSpotOff:
		const off = "and the feature gate SpotToSpotConsolidation is off"
		if r.Want == "0" {
			return fmt.Sprintf("a cheaper spot instance in its place would save %s/h, %s", r.Have, off)
		}
		others, _ := strconv.Atoi(r.Want)
		return fmt.Sprintf("it and %s would save %s/h together on new spot instances, %s", plan.Count(others, "other spot node"), r.Have, off)
	case FewSpotTypes:
		return fmt.Sprintf("%s types would be cheaper on spot, and %s are asked", r.Have, r.Want)
	case NoAddresses:
		return fmt.Sprintf("its pool's subnets in %s have too few free addresses for a replacement beside it", r.Have)
	case Other:
		return r.Detail
	}
	return cmp.Or(texts[r.Code], string(r.Code))
}
