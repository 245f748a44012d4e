// Package events names the reasons of the events that the controller publishes, and says once what each is about. The page of
// events is generated from it (docs/reference/events.md).
//
// Two kinds of events are not here: those that tell that a condition changed, whose reason is the type of the condition
// (package transitions), and what client-go publishes about the Lease.
package events

// Reasons of events. Users' alerts match them, so they are those of Karpenter where it has the event.
const (
	AttachedVolumeUnhealthy                = "AttachedVolumeUnhealthy"
	AwaitingVolumeDetachment               = "AwaitingVolumeDetachment"
	CapacityBlockExpiring                  = "CapacityBlockExpiring"
	CapacityReservationEnded               = "CapacityReservationEnded"
	CapacityReservationInstanceInterrupted = "CapacityReservationInstanceInterrupted"
	ConsolidationApproved                  = "ConsolidationApproved"
	ConsolidationCandidate                 = "ConsolidationCandidate"
	ConsolidationHeld                      = "ConsolidationHeld"
	ConsolidationRejected                  = "ConsolidationRejected"
	Disrupted                              = "Disrupted"
	DisruptionBlocked                      = "DisruptionBlocked"
	DisruptionLaunching                    = "DisruptionLaunching"
	DisruptionTerminating                  = "DisruptionTerminating"
	DisruptionUndone                       = "DisruptionUndone"
	DisruptionWaitingReadiness             = "DisruptionWaitingReadiness"
	DoNotDisruptGracePeriodElapsed         = "DoNotDisruptGracePeriodElapsed"
	DoNotDisruptUntil                      = "DoNotDisruptUntil"
	Evicted                                = "Evicted"
	FailedConsistencyCheck                 = "FailedConsistencyCheck"
	FailedDraining                         = "FailedDraining"
	FailedScheduling                       = "FailedScheduling"
	Finalized                              = "Finalized"
	InitializationTimeout                  = "InitializationTimeout"
	InstanceGone                           = "InstanceGone"
	InstanceStopping                       = "InstanceStopping"
	InstanceTerminating                    = "InstanceTerminating"
	InstanceUnhealthy                      = "InstanceUnhealthy"
	InsufficientCapacityError              = "InsufficientCapacityError"
	InternalError                          = "InternalError"
	InterruptionQueueNotReady              = "InterruptionQueueNotReady"
	InvalidDoNotDisruptAnnotation          = "InvalidDoNotDisruptAnnotation"
	LaunchFailed                           = "LaunchFailed"
	LaunchTimeout                          = "LaunchTimeout"
	Launched                               = "Launched"
	MaintenanceOver                        = "MaintenanceOver"
	MultipleNodesFound                     = "MultipleNodesFound"
	NoCompatibleInstanceTypes              = "NoCompatibleInstanceTypes"
	NodeClassNotReady                      = "NodeClassNotReady"
	NodeGone                               = "NodeGone"
	NodeNotInitialized                     = "NodeNotInitialized"
	NodeRepairBlocked                      = "NodeRepairBlocked"
	Nominated                              = "Nominated"
	ProviderIDInvalid                      = "ProviderIDInvalid"
	QuotaExceeded                          = "QuotaExceeded"
	RegistrationTimeout                    = "RegistrationTimeout"
	ReplicasIgnored                        = "ReplicasIgnored"
	ReplicasLimited                        = "ReplicasLimited"
	SpecIgnored                            = "SpecIgnored"
	SpotInterrupted                        = "SpotInterrupted"
	SpotRebalanceRecommendation            = "SpotRebalanceRecommendation"
	TerminatingOnInterruption              = "TerminatingOnInterruption"
	TerminationGracePeriodExpiring         = "TerminationGracePeriodExpiring"
	TerminationTimestampIgnored            = "TerminationTimestampIgnored"
	Unconsolidatable                       = "Unconsolidatable"
	UnregisteredTaintMissing               = "UnregisteredTaintMissing"
	WaitingOnNodeClaimTermination          = "WaitingOnNodeClaimTermination"
	ZonalShiftActive                       = "ZonalShiftActive"
	ZonalShiftCleared                      = "ZonalShiftCleared"
)

// Reason is a reason and what it is about.
type Reason struct {
	Name string
	// On are the kinds of objects that it is published on.
	On string
	// When it is published, as a clause.
	When string
	// Own reasons are Kerf's: Karpenter does not have them.
	Own bool
}

// Reasons are all of them, by name.
func Reasons() []Reason {
	return []Reason{
		{AttachedVolumeUnhealthy, "Node, NodeClaim", "EC2 says that a volume of the instance is impaired", true},
		{AwaitingVolumeDetachment, "Node", "the pods are gone and volumes are still attached", false},
		{CapacityBlockExpiring, "Node, NodeClaim", "the capacity block that the instance is in ends soon", true},
		{CapacityReservationEnded, "Node, NodeClaim", "the instance's reservation has ended, and it is on demand now", true},
		{CapacityReservationInstanceInterrupted, "Node, NodeClaim", "AWS takes the instance's reservation back", false},
		{ConsolidationApproved, "Node, NodeClaim, NodePool", "a consolidation has begun that the policy Balanced had to accept", false},
		{ConsolidationCandidate, "Node, NodeClaim", "consolidation removes it if that stays worth it for as long as it says", false},
		{ConsolidationHeld, "NodePool", "consolidation that moves pods is held, because pods did not fit where they were said to", true},
		{ConsolidationRejected, "Node, NodeClaim", "it was to be removed within seconds, and is kept", false},
		{Disrupted, "Pod", "it has to end because its node does: it is evicted, or deleted where the API refuses to", false},
		{DisruptionBlocked, "Node, NodeClaim, NodePool", "an annotation, a PodDisruptionBudget, a missing pool or used-up budgets keep nodes from any disruption", false},
		{DisruptionLaunching, "Node, NodeClaim", "replacements are launched before it is removed", false},
		{DisruptionTerminating, "Node, NodeClaim", "it is removed", false},
		{DisruptionUndone, "Node, NodeClaim", "it was to be removed and is kept: why", true},
		{DisruptionWaitingReadiness, "Node, NodeClaim", "its replacements are not initialized yet", false},
		{DoNotDisruptGracePeriodElapsed, "Pod", "the time that its annotation `karpenter.sh/do-not-disrupt` asks for has passed", false},
		{DoNotDisruptUntil, "Pod", "that annotation is a duration: until when it holds", false},
		{Evicted, "Pod", "it was evicted by a drain", false},
		{FailedConsistencyCheck, "Node, NodeClaim", "the node has much less than what was launched", false},
		{FailedDraining, "Node, NodeClaim", "pods keep the node from being drained: which, and why", false},
		{FailedScheduling, "Pod", "no decision found a place: why, for each NodePool; three pods of those that ask for the same are told", false},
		{Finalized, "Node, NodeClaim, EC2NodeClass", "its finalizer was taken off", false},
		{InitializationTimeout, "NodeClaim", "the node joined and could take no pods within `--kerf-initialization-timeout`", true},
		{InstanceGone, "NodeClaim", "the instance is gone, and it was not Kerf that ended it", true},
		{InstanceStopping, "Node, NodeClaim", "the instance stops, and it was not Kerf that stopped it", false},
		{InstanceTerminating, "Node, NodeClaim", "the instance is terminated, and it was not Kerf that did it", false},
		{InstanceUnhealthy, "Node, NodeClaim", "EC2's checks fail, or EC2 has scheduled work on the instance", false},
		{InsufficientCapacityError, "NodeClaim", "EC2 has no capacity for it", false},
		{InternalError, "any", "the object could not be read and is left out; Kerf tries again", true},
		{InterruptionQueueNotReady, "EC2NodeClass", "the interruption queue does not work", true},
		{InvalidDoNotDisruptAnnotation, "Pod", "its annotation is neither `true` nor a duration, and is ignored", false},
		{LaunchFailed, "Pod", "the node that it waits for could not be launched", true},
		{LaunchTimeout, "NodeClaim", "no instance could be launched within `--launch-timeout`, or the API has refused for `--registration-timeout` to have it written", true},
		{Launched, "NodeClaim", "what was launched and at which price; also the transition of the condition", false},
		{MaintenanceOver, "Node, NodeClaim", "work that EC2 had scheduled is over or called off", true},
		{MultipleNodesFound, "NodeClaim", "several nodes claim its instance", false},
		{NoCompatibleInstanceTypes, "NodePool", "no instance type can be used", false},
		{NodeClassNotReady, "NodeClaim", "its EC2NodeClass is not ready", false},
		{NodeGone, "NodeClaim", "its Node was deleted, and its instance, which still ran, is terminated", true},
		{NodeNotInitialized, "Node, NodeClaim", "the node joined long ago and takes no pods", true},
		{NodeRepairBlocked, "NodeClaim, NodePool", "unhealthy nodes are not replaced: too many are unhealthy at once", false},
		{Nominated, "Pod", "where it is to run", false},
		{ProviderIDInvalid, "NodeClaim", "its provider ID names no instance", true},
		{QuotaExceeded, "NodePool", "a quota of the account is used up", true},
		{RegistrationTimeout, "NodeClaim", "the instance's node did not join within `--registration-timeout`", true},
		{ReplicasIgnored, "NodePool", "`spec.replicas` is set and the feature gate StaticCapacity is off", true},
		{ReplicasLimited, "NodePool", "`limits.nodes` keeps a static pool from its replicas", true},
		{SpecIgnored, "EC2NodeClass", "a part of its spec has no effect", true},
		{SpotInterrupted, "Node, NodeClaim", "AWS takes the spot instance back", false},
		{SpotRebalanceRecommendation, "Node, NodeClaim", "AWS sees a raised risk that it takes the spot instance back", false},
		{TerminatingOnInterruption, "Node, NodeClaim", "an interruption drains the node", false},
		{TerminationGracePeriodExpiring, "Node, NodeClaim", "by when its pods are deleted", false},
		{TerminationTimestampIgnored, "NodeClaim", "its annotation `karpenter.sh/nodeclaim-termination-timestamp` is no time, and is ignored", true},
		{Unconsolidatable, "Node, NodeClaim", "consolidation keeps it: why", false},
		{UnregisteredTaintMissing, "Node", "the node joined without the taint `karpenter.sh/unregistered`", false},
		{WaitingOnNodeClaimTermination, "EC2NodeClass", "it is being deleted while NodeClaims use it", false},
		{ZonalShiftActive, "NodePool", "traffic is shifted away from a zone", false},
		{ZonalShiftCleared, "NodePool", "it is no longer", false},
	}
}

// tellOfInterruptions are the reasons by which AWS's doings with an instance are told.
var tellOfInterruptions = map[string]bool{
	AttachedVolumeUnhealthy: true, CapacityBlockExpiring: true, CapacityReservationInstanceInterrupted: true, InstanceGone: true, InstanceStopping: true,
	InstanceTerminating: true, InstanceUnhealthy: true, MaintenanceOver: true, SpotInterrupted: true, SpotRebalanceRecommendation: true,
	TerminatingOnInterruption: true,
}

// OfInterruption reports whether events of a reason tell what AWS does with an instance, or what is done because of that.
func OfInterruption(reason string) bool { return tellOfInterruptions[reason] }
