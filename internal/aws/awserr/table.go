package awserr

import "github.com/kerf-sh/kerf/internal/state/cloud"

// Reasons that a NodeClaim's Launched condition, a launch failure metric or an EC2NodeClass's validation may carry.
const (
	ReasonSpotSLRCreationFailed      = "SpotSLRCreationFailed"
	ReasonUnauthorized               = "Unauthorized"
	ReasonAMIAuthorizationFailure    = "AMIAuthorizationFailure"
	ReasonSecurityGroupSubnetVPC     = "SecurityGroupSubnetVPCMismatch"
	ReasonInstanceProfileNameInvalid = "InstanceProfileNameInvalid"
	ReasonLaunchTemplateNotFound     = "LaunchTemplateNotFound"
	ReasonUserDataSizeLimitExceeded  = "UserDataSizeLimitExceeded"
	ReasonInvalidAMIID               = "InvalidAMIID"
	ReasonAMINotFound                = "AMINotFound"
	ReasonRequestLimitExceeded       = "RequestLimitExceeded"
	ReasonInternalError              = "InternalError"
	ReasonFreeTierIneligible         = "FreeTierIneligible"
	ReasonFleetQuotaExceeded         = "FleetQuotaExceeded"
	ReasonAccountPendingVerification = "AccountPendingVerification"
	ReasonSpotQuotaExceeded          = "SpotQuotaExceeded"
	ReasonVCPULimitExceeded          = "VCPULimitExceeded"
	ReasonInsufficientFreeAddresses  = "InsufficientFreeAddressesInSubnet"
	ReasonInsufficientCapacity       = "InsufficientInstanceCapacity"
	ReasonUnfulfillableCapacity      = "UnfulfillableCapacity"
	ReasonUnsupported                = "Unsupported"
	ReasonReservationExceeded        = "ReservationCapacityExceeded"
	ReasonPlacementGroupFull         = "PlacementGroupFull"
	ReasonPlacementGroupElsewhere    = "PlacementGroupInOtherZone"
	ReasonPlacementGroupNotFound     = "PlacementGroupNotFound"
	ReasonCredentialsRefused         = "CredentialsRefused"
	ReasonLaunchFailed               = "LaunchFailed"
)

// rule maps errors to a class and a reason. Code must equal the error's code, Text be part of its message; an empty one
// fits all.
type rule struct {
	Code, Text string
	Class      cloud.ErrorClass
	Reason     string
}

// rules are tried from the top; the first that fits wins, so what is special stands above what is general.
//
// Source: EC2 API error codes; the codes of IAM, SSM, SQS, EKS and Pricing that Kerf's calls can meet.
var rules = []rule{
	// Spot needs a service-linked role that only somebody with IAM permission can make, once per account.
	{"AuthFailure.ServiceLinkedRoleCreationNotPermitted", "", cloud.Exhausted, ReasonSpotSLRCreationFailed},

	// Who we are is not accepted at all.
	{"InvalidClientTokenId", "", cloud.Denied, ReasonCredentialsRefused},
	{"UnrecognizedClientException", "", cloud.Denied, ReasonCredentialsRefused},
	{"SignatureDoesNotMatch", "", cloud.Denied, ReasonCredentialsRefused},
	{"InvalidSignatureException", "", cloud.Denied, ReasonCredentialsRefused},
	{"IncompleteSignature", "", cloud.Denied, ReasonCredentialsRefused},
	{"MissingAuthenticationToken", "", cloud.Denied, ReasonCredentialsRefused},
	{"MissingAuthenticationTokenException", "", cloud.Denied, ReasonCredentialsRefused},
	{"ExpiredToken", "", cloud.Denied, ReasonCredentialsRefused},
	{"ExpiredTokenException", "", cloud.Denied, ReasonCredentialsRefused},
	{"RequestExpired", "", cloud.Denied, ReasonCredentialsRefused},
	{"AuthFailure", "was not able to validate the provided access credentials", cloud.Denied, ReasonCredentialsRefused},
	{"AuthFailure", "Not authorized for images", cloud.Denied, ReasonAMIAuthorizationFailure},
	{"InvalidAMIID.Unavailable", "", cloud.Invalid, ReasonAMINotFound},

	// We are known, but may not do this.
	{"", "Not authorized for images", cloud.Denied, ReasonAMIAuthorizationFailure},
	{"UnauthorizedOperation", "", cloud.Denied, ReasonUnauthorized},
	{"AccessDenied", "", cloud.Denied, ReasonUnauthorized},
	{"AccessDeniedException", "", cloud.Denied, ReasonUnauthorized},
	{"Client.UnauthorizedOperation", "", cloud.Denied, ReasonUnauthorized},
	{"AuthFailure", "", cloud.Denied, ReasonUnauthorized},
	{"KMSAccessDeniedException", "", cloud.Denied, ReasonUnauthorized},
	{"KMS.AccessDeniedException", "", cloud.Denied, ReasonUnauthorized},
	{"NotAuthorized", "", cloud.Denied, ReasonUnauthorized},

	// Nothing to be had at this place now: a capacity, a quota, addresses. That a spread placement group is full in a zone is
	// told from other limits by its words only.
	{"", "spread placement group", cloud.Exhausted, ReasonPlacementGroupFull},
	{"InvalidPlacementGroup.InUse", "", cloud.Exhausted, ReasonPlacementGroupElsewhere},
	{"InsufficientInstanceCapacity", "", cloud.Exhausted, ReasonInsufficientCapacity},
	{"InsufficientHostCapacity", "", cloud.Exhausted, ReasonInsufficientCapacity},
	{"InsufficientCapacity", "", cloud.Exhausted, ReasonInsufficientCapacity},
	{"MaxSpotInstanceCountExceeded", "", cloud.Exhausted, ReasonSpotQuotaExceeded},
	{"VcpuLimitExceeded", "", cloud.Exhausted, ReasonVCPULimitExceeded},
	{"InstanceLimitExceeded", "", cloud.Exhausted, ReasonVCPULimitExceeded},
	{"UnfulfillableCapacity", "", cloud.Exhausted, ReasonUnfulfillableCapacity},
	{"Unsupported", "", cloud.Exhausted, ReasonUnsupported},
	{"InsufficientFreeAddressesInSubnet", "", cloud.Exhausted, ReasonInsufficientFreeAddresses},
	{"InsufficientCidrBlocks", "", cloud.Exhausted, ReasonInsufficientFreeAddresses}, // free addresses, but no 16 of them side by side
	{"MaxFleetCountExceeded", "", cloud.Exhausted, ReasonFleetQuotaExceeded},
	{"ReservationCapacityExceeded", "", cloud.Exhausted, ReasonReservationExceeded},

	// Asked too often.
	{"RequestLimitExceeded", "", cloud.Throttled, ReasonRequestLimitExceeded},
	{"Throttling", "", cloud.Throttled, ReasonRequestLimitExceeded},
	{"ThrottlingException", "", cloud.Throttled, ReasonRequestLimitExceeded},
	{"ThrottledException", "", cloud.Throttled, ReasonRequestLimitExceeded},
	{"TooManyRequestsException", "", cloud.Throttled, ReasonRequestLimitExceeded},
	{"RequestThrottled", "", cloud.Throttled, ReasonRequestLimitExceeded},
	{"RequestThrottledException", "", cloud.Throttled, ReasonRequestLimitExceeded},
	{"PriorRequestNotComplete", "", cloud.Throttled, ReasonRequestLimitExceeded},
	{"EC2ThrottledException", "", cloud.Throttled, ReasonRequestLimitExceeded},
	{"SlowDown", "", cloud.Throttled, ReasonRequestLimitExceeded},

	// Things that are not there. A launch template that is gone is made anew; an image can't be.
	{"InvalidLaunchTemplateName.NotFoundException", "", cloud.NotFound, ReasonLaunchTemplateNotFound},
	{"InvalidLaunchTemplateId.NotFound", "", cloud.NotFound, ReasonLaunchTemplateNotFound},
	{"InvalidLaunchTemplateId.NotFoundException", "", cloud.NotFound, ReasonLaunchTemplateNotFound},
	{"InvalidLaunchTemplateId.VersionNotFound", "", cloud.NotFound, ReasonLaunchTemplateNotFound},
	{"InvalidAMIID.NotFound", "", cloud.Invalid, ReasonAMINotFound},
	{"InvalidInstanceID.NotFound", "", cloud.NotFound, ReasonLaunchFailed},
	{"InvalidInstanceID.Malformed", "", cloud.NotFound, ReasonLaunchFailed}, // no instance can have such an ID
	{"InvalidCapacityReservationId.NotFound", "", cloud.NotFound, ReasonLaunchFailed},
	{"QueueDoesNotExist", "", cloud.NotFound, ReasonLaunchFailed},
	{"AWS.SimpleQueueService.NonExistentQueue", "", cloud.NotFound, ReasonLaunchFailed},
	{"NoSuchEntity", "", cloud.NotFound, ReasonLaunchFailed},
	{"NoSuchEntityException", "", cloud.NotFound, ReasonLaunchFailed},
	{"ParameterNotFound", "", cloud.NotFound, ReasonLaunchFailed},
	{"ResourceNotFoundException", "", cloud.NotFound, ReasonLaunchFailed},
	{"InvalidSubnetID.NotFound", "", cloud.Invalid, ReasonLaunchFailed},
	{"InvalidGroup.NotFound", "", cloud.Invalid, ReasonLaunchFailed},
	{"InvalidPlacementGroup.Unknown", "", cloud.Invalid, ReasonPlacementGroupNotFound},
	{"InvalidPlacementGroupId.Unknown", "", cloud.Invalid, ReasonPlacementGroupNotFound},
	{"InvalidPlacementGroupId.NotFound", "", cloud.Invalid, ReasonPlacementGroupNotFound},
	{"InvalidPlacementGroupId.Malformed", "", cloud.Invalid, ReasonPlacementGroupNotFound},

	// Requests that can't work as they are.
	{"InvalidParameter", "different networks", cloud.Invalid, ReasonSecurityGroupSubnetVPC},
	{"InvalidParameterValue", "different networks", cloud.Invalid, ReasonSecurityGroupSubnetVPC},
	{"InvalidParameterValue", "Invalid IAM Instance Profile", cloud.Invalid, ReasonInstanceProfileNameInvalid},
	{"InvalidUserData.Malformed", "limited to", cloud.Invalid, ReasonUserDataSizeLimitExceeded},
	{"UserDataSizeLimitExceeded", "", cloud.Invalid, ReasonUserDataSizeLimitExceeded},
	{"", "User data is limited to", cloud.Invalid, ReasonUserDataSizeLimitExceeded},
	{"InvalidAMIID.Malformed", "", cloud.Invalid, ReasonInvalidAMIID},
	{"", "Free Tier", cloud.Invalid, ReasonFreeTierIneligible},
	{"PendingVerification", "", cloud.Invalid, ReasonAccountPendingVerification},
	{"OptInRequired", "", cloud.Invalid, ReasonLaunchFailed}, // terms of an image that nobody accepted: no permission helps
	{"InvalidParameter", "", cloud.Invalid, ReasonLaunchFailed},
	{"InvalidParameterValue", "", cloud.Invalid, ReasonLaunchFailed},
	{"InvalidParameterCombination", "", cloud.Invalid, ReasonLaunchFailed},
	{"InvalidParameterException", "", cloud.Invalid, ReasonLaunchFailed},
	{"InvalidBlockDeviceMapping", "", cloud.Invalid, ReasonLaunchFailed},
	{"InvalidSnapshot.NotFound", "", cloud.Invalid, ReasonLaunchFailed},
	{"InvalidFleetConfiguration", "not supported in your requested Availability Zone", cloud.Exhausted, ReasonUnsupported}, // says nothing of other pools
	{"InvalidFleetConfiguration", "", cloud.Invalid, ReasonLaunchFailed},
	{"MissingParameter", "", cloud.Invalid, ReasonLaunchFailed},
	{"UnknownParameter", "", cloud.Invalid, ReasonLaunchFailed},
	{"MalformedQueryString", "", cloud.Invalid, ReasonLaunchFailed},
	{"InvalidKeyPair.NotFound", "", cloud.Invalid, ReasonLaunchFailed},
	{"ValidationError", "", cloud.Invalid, ReasonLaunchFailed},
	{"ValidationException", "", cloud.Invalid, ReasonLaunchFailed},
	{"LimitExceeded", "", cloud.Invalid, ReasonLaunchFailed},
	{"TagLimitExceeded", "", cloud.Invalid, ReasonLaunchFailed},

	// Somebody else was there first.
	{"InvalidLaunchTemplateName.AlreadyExistsException", "", cloud.Conflict, ReasonLaunchFailed},
	{"EntityAlreadyExists", "", cloud.Conflict, ReasonLaunchFailed},
	{"EntityAlreadyExistsException", "", cloud.Conflict, ReasonLaunchFailed},
	{"DeleteConflict", "", cloud.Conflict, ReasonLaunchFailed},
	{"ConcurrentModification", "", cloud.Conflict, ReasonLaunchFailed},
	{"IdempotentParameterMismatch", "", cloud.Conflict, ReasonLaunchFailed},
	{"IncorrectInstanceState", "", cloud.Conflict, ReasonLaunchFailed},
	{"IncorrectState", "", cloud.Conflict, ReasonLaunchFailed},

	// The service is not well.
	{"InternalError", "", cloud.Unavailable, ReasonInternalError},
	{"InternalFailure", "", cloud.Unavailable, ReasonInternalError},
	{"InternalServerError", "", cloud.Unavailable, ReasonInternalError},
	{"ServiceUnavailable", "", cloud.Unavailable, ReasonInternalError},
	{"ServiceUnavailableException", "", cloud.Unavailable, ReasonInternalError},
	{"Unavailable", "", cloud.Unavailable, ReasonInternalError},
	{"ServerException", "", cloud.Unavailable, ReasonInternalError},
}
