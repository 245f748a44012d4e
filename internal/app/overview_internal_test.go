package app

import (
	"testing"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/aws/offering"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/res"
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

// TestAQuotaIsUsedByTheNodesThatCountAgainstIt: nodes of another quota, of others, and those not launched yet do not.
func TestAQuotaIsUsedByTheNodesThatCountAgainstIt(t *testing.T) {
	node := func(claim, capacityType, instanceType string, launched bool) *cluster.Node {
		return &cluster.Node{Claim: claim, CapacityType: capacityType, InstanceType: instanceType, Launched: launched, Capacity: res.List{res.CPU: 8000}}
	}
	nodes := []*cluster.Node{
		node("a", "on-demand", "c6g.2xlarge", true), node("b", "reserved", "m5.2xlarge", true),
		node("c", "spot", "c6g.2xlarge", true), node("d", "on-demand", "g4dn.2xlarge", true), node("", "on-demand", "c6g.2xlarge", true), node("e", "on-demand", "c6g.2xlarge", false),
	}
	if got := quotaInUse(offering.QuotaOf("on-demand", "r7i.large"), nodes); got.InUse == nil || *got.InUse != 16 {
		t.Errorf("%+v, want 16 vCPUs in use", got)
	}
	if got := quotaInUse(offering.Quota{Name: "EC2 Fleets per Region"}, nodes); got.InUse != nil {
		t.Errorf("a quota that is not of vCPUs has %d of them in use", *got.InUse)
	}
}

func TestAClaimThatDriftedSaysInWhat(t *testing.T) {
	claim := &karpv1.NodeClaim{}
	if d := driftOf(claim); d != nil {
		t.Errorf("a new claim drifted: %+v", d)
	}
	claim.StatusConditions().SetTrueWithReason(karpv1.ConditionTypeDrifted, karpv1.ReasonNodePoolDrifted, "labels")
	if d := driftOf(claim); d == nil || d.Reason != karpv1.ReasonNodePoolDrifted || d.Message != "labels" {
		t.Errorf("got %+v", d)
	}
}
