package intake

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// Expected is what is known of an instance that was asked for before the cloud has answered.
type Expected struct {
	// Allocatable is the least that any type leaves to pods that it may become, Capacity the most that one has.
	Allocatable res.List
	Capacity    res.List
}

// Node joins a Node and its NodeClaim, either of which may be nil, into one value, without its pods. Until the Node is
// registered, labels and taints are the claim's; until it is initialized, what the kubelet does not report yet is filled
// from the claim, and taints that will go by themselves do not count.
func Node(node *corev1.Node, claim *karpv1.NodeClaim, expected Expected) *cluster.Node {
	out := &cluster.Node{}
	if claim != nil {
		fromClaim(out, claim, expected)
	}
	if node != nil {
		fromNode(out, node, claim)
	}
	out.CapacityType = out.Labels[karpv1.CapacityTypeLabelKey]
	out.InstanceType = out.Labels[corev1.LabelInstanceTypeStable]
	out.Zone = out.Labels[corev1.LabelTopologyZone]
	out.Pool = out.Labels[karpv1.NodePoolLabelKey]
	return out
}

func fromClaim(out *cluster.Node, claim *karpv1.NodeClaim, expected Expected) {
	out.Name, out.Claim = claim.Name, claim.Name
	out.ProviderID = claim.Status.ProviderID
	out.Labels = claim.Labels
	out.Taints = Taints(claim.Spec.Taints)
	out.CreatedAt = claim.CreationTimestamp.UTC()
	out.Launched = claim.Status.ProviderID != ""
	out.DoNotDisrupt = claim.Annotations[karpv1.DoNotDisruptAnnotationKey] == "true"
	out.Deleting = claim.DeletionTimestamp != nil ||
		claim.StatusConditions().IsTrue(karpv1.ConditionTypeInstanceTerminating)
	requests := Resources(claim.Spec.Resources.Requests)
	if out.Launched {
		out.Allocatable = Resources(claim.Status.Allocatable)
		out.Capacity = Resources(claim.Status.Capacity)
	}
	if !out.Launched || claim.Labels[corev1.LabelInstanceTypeStable] == "" {
		out.Requirements = Terms(claim.Spec.Requirements) // the labels that say what was launched are not written yet
	}
	if len(out.Allocatable) == 0 {
		out.Allocatable = most(expected.Allocatable, requests)
	}
	if len(out.Capacity) == 0 {
		out.Capacity = most(expected.Capacity, out.Allocatable)
	}
}

func isManaged(node *corev1.Node, claim *karpv1.NodeClaim) bool {
	return claim != nil || node.Labels[awsv1.LabelNodeClass] != ""
}

// Initialized reports whether a node takes pods. claim is the node's NodeClaim, nil where it has none.
func Initialized(node *corev1.Node, claim *karpv1.NodeClaim) bool {
	return !isManaged(node, claim) || node.Labels[karpv1.NodeRegisteredLabelKey] == "true" && node.Labels[karpv1.NodeInitializedLabelKey] == "true"
}

func fromNode(out *cluster.Node, node *corev1.Node, claim *karpv1.NodeClaim) {
	managed := isManaged(node, claim)
	out.Name = node.Name
	out.Hostname = node.Labels[corev1.LabelHostname]
	out.ProviderID = node.Spec.ProviderID
	out.Launched = true
	out.Requirements = nil
	out.Registered = !managed || node.Labels[karpv1.NodeRegisteredLabelKey] == "true"
	out.Initialized = Initialized(node, claim)
	out.Ready = isReady(node)
	out.Deleting = out.Deleting || node.DeletionTimestamp != nil
	out.Leaving = Leaving(node) && !out.Deleting
	out.DoNotDisrupt = out.DoNotDisrupt || node.Annotations[karpv1.DoNotDisruptAnnotationKey] == "true"
	if claim == nil {
		out.CreatedAt = node.CreationTimestamp.UTC()
	}
	if out.Registered || claim == nil {
		out.Labels = node.Labels
		out.Taints = nodeTaints(node, claim, out.Initialized)
	}
	allocatable, capacity := Resources(node.Status.Allocatable), Resources(node.Status.Capacity)
	if !out.Initialized {
		allocatable, capacity = fill(allocatable, out.Allocatable), fill(capacity, out.Capacity)
	}
	out.Allocatable, out.Capacity = allocatable, capacity
}

// nodeTaints are the taints that count. A cordoned node counts as tainted even before the taint is on it.
func nodeTaints(node *corev1.Node, claim *karpv1.NodeClaim, initialized bool) []cluster.Taint {
	taints := slices.Clone(node.Spec.Taints)
	if node.Spec.Unschedulable {
		taints = append(taints, corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule})
	}
	if !initialized {
		taints = slices.DeleteFunc(taints, func(t corev1.Taint) bool {
			return IsEphemeral(&t) || claim != nil && slices.ContainsFunc(claim.Spec.StartupTaints, func(s corev1.Taint) bool { return t.MatchTaint(&s) && t.Value == s.Value })
		})
	}
	return Taints(taints)
}

// IsEphemeral reports whether a taint is one of those that are on every node while it starts and go by themselves.
func IsEphemeral(t *corev1.Taint) bool {
	switch {
	case t.Key == corev1.TaintNodeNotReady:
		return t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute
	case t.Key == corev1.TaintNodeUnreachable:
		return t.Effect == corev1.TaintEffectNoSchedule
	case t.Key == "node.cloudprovider.kubernetes.io/uninitialized":
		return t.Effect == corev1.TaintEffectNoSchedule && t.Value == "true"
	case t.Key == karpv1.UnregisteredTaintKey:
		return t.Effect == corev1.TaintEffectNoExecute
	default:
		return strings.HasPrefix(t.Key, "readiness.k8s.io/")
	}
}

func isReady(node *corev1.Node) bool {
	for i := range node.Status.Conditions {
		if c := &node.Status.Conditions[i]; c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// fill is a with its zero and missing amounts taken from b.
func fill(a, b res.List) res.List {
	out := a.Clone()
	for k, v := range b {
		if out[k] == 0 && v != 0 {
			if out == nil {
				out = res.List{}
			}
			out[k] = v
		}
	}
	return out
}

// most is the larger amount of each resource.
func most(a, b res.List) res.List {
	if len(a) == 0 {
		return b
	}
	out := maps.Clone(a)
	for k, v := range b {
		out[k] = max(out[k], v)
	}
	return out
}
