package disrupt

import (
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/disrupt"
)

// eventual are the reasons against a disruption that has to come about in the end, as for drift. On a claim with a
// terminationGracePeriod neither pods that ask not to be disrupted nor PodDisruptionBudgets stand against it: its owner has
// said how long they may hold up the node. What the node itself is annotated with does. That it is not ready is none, for
// its pods are better off elsewhere.
//
// Source: the eventual class of disruption of the Karpenter v1 API.
func (s *subject) eventual() []disrupt.Reason {
	waived := s.claim != nil && s.claim.Spec.TerminationGracePeriod != nil
	return slices.DeleteFunc(s.blocks(), func(r disrupt.Reason) bool {
		switch r.Code {
		case disrupt.NotReady:
			return true
		case disrupt.DoNotDisrupt:
			return waived && r.Pod != ""
		case disrupt.DisruptionBudget:
			return waived
		}
		return false
	})
}
