package v1

import "github.com/kerf-sh/kerf/api/status"

// Condition types of NodePool and NodeClaim.
const (
	ConditionTypeReady = status.Ready

	// NodePool.
	ConditionTypeValidationSucceeded     = "ValidationSucceeded"
	ConditionTypeNodeClassReady          = "NodeClassReady"
	ConditionTypeNodeRegistrationHealthy = "NodeRegistrationHealthy"
	// Kerf's own; it informs only and does not take part in Ready.
	ConditionTypeBudgetsValid = "BudgetsValid"

	// NodeClaim.
	ConditionTypeLaunched             = "Launched"
	ConditionTypeRegistered           = "Registered"
	ConditionTypeInitialized          = "Initialized"
	ConditionTypeDrifted              = "Drifted"
	ConditionTypeConsolidatable       = "Consolidatable"
	ConditionTypeDisruptionReason     = "DisruptionReason"
	ConditionTypeDrained              = "Drained"
	ConditionTypeVolumesDetached      = "VolumesDetached"
	ConditionTypeInstanceTerminating  = "InstanceTerminating"
	ConditionTypeConsistentStateFound = "ConsistentStateFound"
)

// Reasons of NodePool conditions.
const (
	ReasonNodePoolValidationFailed  = "NodePoolValidationFailed"
	ReasonNodeClassNotFound         = "NodeClassNotFound"
	ReasonNodeClassTerminating      = "NodeClassTerminating"
	ReasonNodeClassReadinessUnknown = "NodeClassReadinessUnknown"
	ReasonRegistrationFailed        = "RegistrationFailed"
	ReasonNoInstanceTypes           = "NoInstanceTypes" // no instance type meets the requirements
	ReasonBudgetInvalid             = "BudgetInvalid"
)

// Reasons of NodeClaim conditions.
const (
	ReasonLaunchFailed                  = "LaunchFailed"
	ReasonNodeNotFound                  = "NodeNotFound"
	ReasonMultipleNodesFound            = "MultipleNodesFound"
	ReasonRegistrationHookPending       = "RegistrationHookPending"
	ReasonNodeNotReady                  = "NodeNotReady"
	ReasonStartupTaintsExist            = "StartupTaintsExist"
	ReasonKnownEphemeralTaintsExist     = "KnownEphemeralTaintsExist"
	ReasonResourceNotRegistered         = "ResourceNotRegistered"
	ReasonDRADriverPoolsNotPublished    = "DRADriverPoolsNotPublished"
	ReasonNodePoolDrifted               = "NodePoolDrifted"
	ReasonRequirementsDrifted           = "RequirementsDrifted"
	ReasonInstanceTypeNotFound          = "InstanceTypeNotFound"
	ReasonDraining                      = "Draining"
	ReasonAwaitingVolumeDetachment      = "AwaitingVolumeDetachment"
	ReasonTerminationGracePeriodElapsed = "TerminationGracePeriodElapsed"
	ReasonConsistencyCheckFailed        = "ConsistencyCheckFailed"
)

// GetConditions returns the conditions as stored.
func (p *NodePool) GetConditions() []status.Condition { return p.Status.Conditions }

// SetConditions replaces the conditions.
func (p *NodePool) SetConditions(c []status.Condition) { p.Status.Conditions = c }

// StatusConditions returns the condition set of p. NodeRegistrationHealthy restrains launches and does
// not take part in Ready.
func (p *NodePool) StatusConditions() status.Set {
	return status.For(p, poolDependents...)
}

// They are made once: condition sets are asked for of every claim every second.
var (
	poolDependents  = []string{ConditionTypeValidationSucceeded, ConditionTypeNodeClassReady}
	claimDependents = []string{ConditionTypeLaunched, ConditionTypeRegistered, ConditionTypeInitialized}
)

// GetConditions returns the conditions as stored.
func (c *NodeClaim) GetConditions() []status.Condition { return c.Status.Conditions }

// SetConditions replaces the conditions.
func (c *NodeClaim) SetConditions(conditions []status.Condition) { c.Status.Conditions = conditions }

// StatusConditions returns the condition set of c: Ready sums up Launched, Registered and
// Initialized.
func (c *NodeClaim) StatusConditions() status.Set {
	return status.For(c, claimDependents...)
}
