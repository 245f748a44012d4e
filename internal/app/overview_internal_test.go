package app

import (
	"testing"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

// TestAFailedLaunchIsTroubleAtOnce: whoever looks must not wait until the claim is old.
func TestAFailedLaunchIsTroubleAtOnce(t *testing.T) {
	claim := &karpv1.NodeClaim{}
	if launchFails(claim) {
		t.Error("a claim that was made just now fails")
	}
	claim.StatusConditions().SetUnknownWithReason(karpv1.ConditionTypeLaunched, "Unauthorized", "missing permission")
	if !launchFails(claim) {
		t.Error("a launch that was refused does not fail")
	}
	claim.StatusConditions().SetTrue(karpv1.ConditionTypeLaunched)
	if launchFails(claim) {
		t.Error("a claim with an instance fails")
	}
}
