package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// event is a reason of events; own ones Karpenter does not have.
type event struct {
	reason, on, when string
	own              bool
}

// events lists every reason of the code; one that is missing fails the generation.
func events() []event {
	return []event{
		{"AttachedVolumeUnhealthy", "Node, NodeClaim", "EC2 says that a volume of the instance is impaired", true},
		{"AwaitingVolumeDetachment", "Node", "the pods are gone and volumes are still attached", false},
		{"CapacityBlockExpiring", "Node, NodeClaim", "the capacity block that the instance is in ends soon", true},
		{"CapacityReservationEnded", "Node, NodeClaim", "the instance's reservation has ended, and it is on demand now", true},
		{"CapacityReservationInstanceInterrupted", "Node, NodeClaim", "AWS takes the instance's reservation back", false},
		{"ConsolidationApproved", "Node, NodeClaim, NodePool", "a consolidation has begun that the policy Balanced had to accept", false},
		{"ConsolidationCandidate", "Node, NodeClaim", "consolidation removes it if that stays worth it for as long as it says", false},
		{"ConsolidationHeld", "NodePool", "consolidation that moves pods is held, because pods did not fit where they were said to", true},
		{"ConsolidationRejected", "Node, NodeClaim", "it was to be removed within seconds, and is kept", false},
		{"Disrupted", "Pod", "it is deleted because its node ends before it can be evicted", false},
		{"DisruptionBlocked", "Node, NodeClaim, NodePool", "an annotation, a PodDisruptionBudget, a missing pool or used-up budgets keep nodes from any disruption", false},
		{"DisruptionLaunching", "Node, NodeClaim", "replacements are launched before it is removed", false},
		{"DisruptionTerminating", "Node, NodeClaim", "it is removed", false},
		{"DisruptionUndone", "Node, NodeClaim", "it was to be removed and is kept: why", true},
		{"DisruptionWaitingReadiness", "Node, NodeClaim", "its replacements are not initialized yet", false},
		{"DoNotDisruptGracePeriodElapsed", "Pod", "the time that its annotation `karpenter.sh/do-not-disrupt` asks for has passed", false},
		{"DoNotDisruptUntil", "Pod", "that annotation is a duration: until when it holds", false},
		{"Evicted", "Pod", "it was evicted by a drain", false},
		{"FailedConsistencyCheck", "Node, NodeClaim", "the node has much less than what was launched", false},
		{"FailedDraining", "Node, NodeClaim", "pods keep the node from being drained: which, and why", false},
		{"FailedScheduling", "Pod", "no decision found a place: why, for each NodePool", false},
		{"Finalized", "Node, NodeClaim, EC2NodeClass", "its finalizer was taken off", false},
		{"InitializationTimeout", "NodeClaim", "the node joined and could take no pods within `--kerf-initialization-timeout`", true},
		{"InstanceStopping", "Node, NodeClaim", "the instance stops, and it was not Kerf that stopped it", false},
		{"InstanceTerminating", "Node, NodeClaim", "the instance is terminated, and it was not Kerf that did it", false},
		{"InstanceUnhealthy", "Node, NodeClaim", "EC2's checks fail, or EC2 has scheduled work on the instance", false},
		{"InsufficientCapacityError", "NodeClaim", "EC2 has no capacity for it", false},
		{"InternalError", "any", "the object could not be read and is left out; Kerf tries again", true},
		{"InterruptionQueueNotReady", "EC2NodeClass", "the interruption queue does not work", true},
		{"InvalidDoNotDisruptAnnotation", "Pod", "its annotation is neither `true` nor a duration, and is ignored", false},
		{"LaunchFailed", "Pod", "the node that it waits for could not be launched", true},
		{"LaunchTimeout", "NodeClaim", "no instance could be launched within `--launch-timeout`", true},
		{"Launched", "NodeClaim", "what was launched and at which price; also the transition of the condition", false},
		{"InstanceGone", "NodeClaim", "the instance is gone, and it was not Kerf that ended it", true},
		{"MaintenanceOver", "Node, NodeClaim", "work that EC2 had scheduled is over or called off", true},
		{"MultipleNodesFound", "NodeClaim", "several nodes claim its instance", false},
		{"NoCompatibleInstanceTypes", "NodePool", "no instance type can be used", false},
		{"NodeClassNotReady", "NodeClaim", "its EC2NodeClass is not ready", false},
		{"NodeNotInitialized", "Node, NodeClaim", "the node joined long ago and takes no pods", true},
		{"NodeRepairBlocked", "NodeClaim, NodePool", "unhealthy nodes are not replaced: too many are unhealthy at once", false},
		{"Nominated", "Pod", "where it is to run", false},
		{"ProviderIDInvalid", "NodeClaim", "its provider ID names no instance", true},
		{"QuotaExceeded", "NodePool", "a quota of the account is used up", true},
		{"RegistrationTimeout", "NodeClaim", "the instance's node did not join within `--registration-timeout`", true},
		{"ReplicasIgnored", "NodePool", "`spec.replicas` is set and the feature gate StaticCapacity is off", true},
		{"ReplicasLimited", "NodePool", "`limits.nodes` keeps a static pool from its replicas", true},
		{"SpecIgnored", "EC2NodeClass", "a part of its spec has no effect", true},
		{"SpotInterrupted", "Node, NodeClaim", "AWS takes the spot instance back", false},
		{"SpotRebalanceRecommendation", "Node, NodeClaim", "AWS sees a raised risk that it takes the spot instance back", false},
		{"TerminatingOnInterruption", "Node, NodeClaim", "an interruption drains the node", false},
		{"TerminationGracePeriodExpiring", "Node, NodeClaim", "by when its pods are deleted", false},
		{"TerminationTimestampIgnored", "NodeClaim", "its annotation `karpenter.sh/nodeclaim-termination-timestamp` is no time, and is ignored", true},
		{"Unconsolidatable", "Node, NodeClaim", "consolidation keeps it: why", false},
		{"UnregisteredTaintMissing", "Node", "the node joined without the taint `karpenter.sh/unregistered`", false},
		{"WaitingOnNodeClaimTermination", "EC2NodeClass", "it is being deleted while NodeClaims use it", false},
		{"ZonalShiftActive", "NodePool", "traffic is shifted away from a zone", false},
		{"ZonalShiftCleared", "NodePool", "it is no longer", false},
	}
}

func eventsPage(b *bytes.Buffer, root string) error {
	b.WriteString(`# Events

They come from the component ` + "`karpenter`" + `. The same event on the same object is published once in two minutes. Reasons marked
*Kerf* are Kerf's own; the others are those of Karpenter, with texts of Kerf's.

## Conditions

When a condition of a NodePool, NodeClaim or EC2NodeClass changes its status, an event on the object says so. Its type is
Normal, its reason the type of the condition, its message in Karpenter's form:

    Status condition transitioned, Type: Registered, Status: Unknown -> True, Reason: Registered

A message of the condition follows as ` + "`, Message: …`" + `. A condition that an object of the kind always has counts as Unknown before it
is written. One that comes and goes, such as Consolidatable and Drifted, has an event when it changes, not when it comes. No
more than 20 of these events are published a second, and 1,000 at once; the rest is left out. Conditions of Nodes have no
events here: the node controller of Kubernetes publishes those that matter.

## Reasons

`)
	known := map[string]bool{}
	head(b, "reason", "on", "when", "")
	for _, e := range events() {
		known[e.reason] = true
		mark := ""
		if e.own {
			mark = "Kerf"
		}
		row(b, code(e.reason), e.on, e.when, mark)
	}
	found, err := eventReasons(root)
	if err != nil {
		return err
	}
	for _, reason := range found {
		if !known[reason] {
			return fmt.Errorf("event reason %s: say in internal/docgen/events.go what it is about", reason)
		}
	}
	b.WriteString(`
Karpenter declares ` + "`FailedTermination`" + ` and does not publish it; neither does Kerf.
`)
	return nil
}

// eventReason is how the code writes the reason of an event.
var eventReason = regexp.MustCompile(`(?:EventTypeNormal|EventTypeWarning|\bwarning|\bnormal), "([A-Z][A-Za-z]+)"|event: +"([A-Z][A-Za-z]+)"|reason, event :?= "[a-z_]+", "([A-Z][A-Za-z]+)"`)

// eventReasons are the reasons in the code, sorted.
func eventReasons(root string) (found []string, err error) {
	for _, dir := range []string{"app", "controller"} {
		err := filepath.WalkDir(filepath.Join(root, "internal", dir), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, m := range eventReason.FindAllStringSubmatch(string(text), -1) {
				found = append(found, m[1]+m[2]+m[3])
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("reading the reasons of events: %w", err)
		}
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}
