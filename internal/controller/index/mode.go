package index

import karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"

// TerminationMode is the metrics' word for how a claim's node goes: graceful takes as long as its pods need, eventual ends
// with terminationGracePeriod, forceful is a grace period of nothing.
func TerminationMode(claim *karpv1.NodeClaim) string {
	switch grace := claim.Spec.TerminationGracePeriod; {
	case grace == nil:
		return "graceful"
	case grace.Duration > 0:
		return "eventual"
	}
	return "forceful"
}
