package v1

import "github.com/kerf-sh/kerf/api/status"

// Condition types of EC2NodeClass.
const (
	ConditionTypeReady                     = status.Ready
	ConditionTypeSubnetsReady              = "SubnetsReady"
	ConditionTypeSecurityGroupsReady       = "SecurityGroupsReady"
	ConditionTypeAMIsReady                 = "AMIsReady"
	ConditionTypeInstanceProfileReady      = "InstanceProfileReady"
	ConditionTypePlacementGroupReady       = "PlacementGroupReady"
	ConditionTypeCapacityReservationsReady = "CapacityReservationsReady"
	ConditionTypeValidationSucceeded       = "ValidationSucceeded"

	// ConditionTypeLaunchTemplateReady is Kerf's own: it is there, and part of Ready, while the class names a launch
	// template.
	ConditionTypeLaunchTemplateReady = "LaunchTemplateReady"

	// Kerf's own; they inform and are no part of Ready. InterruptionQueueReady is there while a queue is set.
	// InstanceStatusReady is there, and False, while the status of instances may not be read.
	ConditionTypeInterruptionQueueReady = "InterruptionQueueReady"
	ConditionTypeInstanceStatusReady    = "InstanceStatusReady"
)

// Reasons of EC2NodeClass conditions.
const (
	ReasonSubnetsNotFound                     = "SubnetsNotFound"
	ReasonSecurityGroupsNotFound              = "SecurityGroupsNotFound"
	ReasonAMINotFound                         = "AMINotFound"
	ReasonUnsupportedAlias                    = "UnsupportedAlias"
	ReasonInstanceProfileNotFound             = "InstanceProfileNotFound"
	ReasonPlacementGroupResolutionFailed      = "PlacementGroupResolutionFailed"
	ReasonPlacementGroupNotFound              = "PlacementGroupNotFound"
	ReasonClusterCIDRResolutionFailed         = "ClusterCIDRResolutionFailed"
	ReasonDependenciesNotReady                = "DependenciesNotReady"
	ReasonTagValidationFailed                 = "TagValidationFailed"
	ReasonCreateLaunchTemplateAuthCheckFailed = "CreateLaunchTemplateAuthCheckFailed"
	ReasonCreateFleetAuthCheckFailed          = "CreateFleetAuthCheckFailed"
	ReasonRunInstancesAuthCheckFailed         = "RunInstancesAuthCheckFailed"
	ReasonUserDataSizeLimitExceeded           = "UserDataSizeLimitExceeded"
	// ReasonSpecInvalid is Kerf's own: the schema admits the spec, but a field of it makes no sense.
	ReasonSpecInvalid = "SpecInvalid"
	// ReasonAMIsPartlyKnown is Kerf's own, of an AMIsReady that is True: some images could not be looked up. Those found
	// before stay; instance types that no known image boots are not offered until it can be.
	ReasonAMIsPartlyKnown = "AMIsPartlyKnown"
)

// Reasons of LaunchTemplateReady.
const (
	// ReasonLaunchTemplateNotFound: the template or the version does not exist, or not any more.
	ReasonLaunchTemplateNotFound = "LaunchTemplateNotFound"
	// ReasonLaunchTemplateUnreadable: EC2 would not say, so nothing is known.
	ReasonLaunchTemplateUnreadable = "LaunchTemplateUnreadable"
	// ReasonLaunchTemplateReadDenied: the controller may not read versions of launch templates.
	ReasonLaunchTemplateReadDenied = "LaunchTemplateReadDenied"
	// ReasonLaunchTemplateInvalid: the template holds what it may not, or lacks what it needs.
	ReasonLaunchTemplateInvalid = "LaunchTemplateInvalid"
	// ReasonLaunchTemplateUserDataInvalid: instances that boot with the user data would not join this cluster.
	ReasonLaunchTemplateUserDataInvalid = "LaunchTemplateUserDataInvalid"
)

// Reasons of the Drifted condition that come from this provider.
const (
	ReasonNodeClassDrift           = "NodeClassDrift"
	ReasonAMIDrift                 = "AMIDrift"
	ReasonSecurityGroupDrift       = "SecurityGroupDrift"
	ReasonSubnetDrift              = "SubnetDrift"
	ReasonCapacityReservationDrift = "CapacityReservationDrift"
	ReasonPlacementGroupDrift      = "PlacementGroupDrift"
	// ReasonLaunchTemplateDrift is Kerf's own: another version, or another template, stands where the node's stood.
	ReasonLaunchTemplateDrift = "LaunchTemplateDrift"
)

// GetConditions returns the conditions as stored.
func (c *EC2NodeClass) GetConditions() []status.Condition { return c.Status.Conditions }

// SetConditions replaces the conditions.
func (c *EC2NodeClass) SetConditions(conditions []status.Condition) {
	c.Status.Conditions = conditions
}

// StatusConditions returns the condition set of c. CapacityReservationsReady takes part only while
// capacity reservations are in use, which is a setting of the controller; LaunchTemplateReady while
// the class names a launch template.
func (c *EC2NodeClass) StatusConditions(reservedCapacity bool) status.Set {
	dependents := []string{
		ConditionTypeAMIsReady, ConditionTypeSubnetsReady, ConditionTypeSecurityGroupsReady,
		ConditionTypeInstanceProfileReady, ConditionTypePlacementGroupReady, ConditionTypeValidationSucceeded,
	}
	if c.Spec.LaunchTemplate != nil {
		dependents = append(dependents, ConditionTypeLaunchTemplateReady)
	}
	if reservedCapacity {
		dependents = append(dependents, ConditionTypeCapacityReservationsReady)
	}
	return status.For(c, dependents...)
}
