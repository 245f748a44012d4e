// Package conditions lists the conditions of Kerf's API objects, says once what each is about, and which package writes it: one, so
// that no two loops undo each other's writes. A test reads the code of the loops and holds them to it. The page of conditions is
// generated from the list (docs/reference/conditions.md).
//
// Ready is not in it: package status sums it up from the others of an object.
package conditions

import (
	autoscalingv1beta1 "github.com/kerf-sh/kerf/api/autoscaling/v1beta1"
	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/api/karpenter/v1alpha1"
)

// Condition is a condition of a kind of objects.
type Condition struct {
	Kind, Type string
	// True is when its status is True, as a clause.
	True string
	// Writer is the package in internal/controller that writes it.
	Writer string
	// Own conditions are Kerf's: Karpenter does not have them.
	Own bool
}

// All are the conditions, in the order of kinds and, within one, of an object's life.
func All() []Condition {
	return []Condition{
		{"NodeClaim", karpv1.ConditionTypeLaunched, "its instance was launched", "lifecycle", false},
		{"NodeClaim", karpv1.ConditionTypeRegistered, "its node has joined", "lifecycle", false},
		{"NodeClaim", karpv1.ConditionTypeInitialized, "its node is ready for pods: startup taints are gone, resources are there", "lifecycle", false},
		{"NodeClaim", karpv1.ConditionTypeConsistentStateFound, "its node has what was launched", "consistency", false},
		{"NodeClaim", karpv1.ConditionTypeConsolidatable, "no pod has come or gone for `consolidateAfter`", "disrupt", false},
		{"NodeClaim", karpv1.ConditionTypeDrifted, "it differs from its NodePool or EC2NodeClass: the reason says in what", "drift", false},
		{"NodeClaim", karpv1.ConditionTypeDisruptionReason, "it is being disrupted: the reason says why", "disrupt", false},
		{"NodeClaim", karpv1.ConditionTypeDrained, "it is being deleted, and no pod is left to wait for", "terminate", false},
		{"NodeClaim", karpv1.ConditionTypeVolumesDetached, "it is drained, and no volume is attached that would hold up another node", "terminate", false},
		{"NodeClaim", karpv1.ConditionTypeInstanceTerminating, "EC2 was asked to terminate its instance", "terminate", false},

		{"NodePool", karpv1.ConditionTypeValidationSucceeded, "its spec can be served", "nodepool", false},
		{"NodePool", karpv1.ConditionTypeNodeClassReady, "its EC2NodeClass is there and ready", "nodepool", false},
		{"NodePool", karpv1.ConditionTypeNodeRegistrationHealthy, "instances of it have lately become nodes", "nodepool", false},
		{"NodePool", karpv1.ConditionTypeBudgetsValid, "its disruption budgets can be read", "nodepool", true},

		{"EC2NodeClass", awsv1.ConditionTypeValidationSucceeded, "its spec can be served, and EC2 accepts a launch with it (a dry run)", "nodeclass", false},
		{"EC2NodeClass", awsv1.ConditionTypeSubnetsReady, "its terms select subnets", "nodeclass", false},
		{"EC2NodeClass", awsv1.ConditionTypeSecurityGroupsReady, "its terms select security groups", "nodeclass", false},
		{"EC2NodeClass", awsv1.ConditionTypeAMIsReady, "its terms select AMIs", "nodeclass", false},
		{"EC2NodeClass", awsv1.ConditionTypeInstanceProfileReady, "its role has an instance profile", "nodeclass", false},
		{"EC2NodeClass", awsv1.ConditionTypePlacementGroupReady, "its placement group is there", "nodeclass", false},
		{"EC2NodeClass", awsv1.ConditionTypeCapacityReservationsReady, "its terms for capacity reservations could be looked up", "nodeclass", false},
		{"EC2NodeClass", awsv1.ConditionTypeLaunchTemplateReady, "the launch template that it names is there and can be used", "nodeclass", true},
		{"EC2NodeClass", awsv1.ConditionTypeInterruptionQueueReady, "the interruption queue is read, and the rules that fill it are there", "interruption", true},
		{"EC2NodeClass", awsv1.ConditionTypeInstanceStatusReady, "never: it is there, False, while the health of instances can't be read", "interruption", true},

		{"NodeOverlay", v1alpha1.ConditionTypeValidationSucceeded, "it can be read, and no other of the same weight says something else", "overlay", false},

		{"CapacityBuffer", autoscalingv1beta1.ConditionTypeReadyForProvisioning, "what it asks for is known", "buffer", false},
		{"CapacityBuffer", autoscalingv1beta1.ConditionTypeProvisioning, "ready nodes have room for all of its pods", "buffer", false},
	}
}
