package peer

import (
	"fmt"
	"maps"
	"slices"

	"github.com/awslabs/operatorpkg/status"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/scheduling"
	"sigs.k8s.io/karpenter/pkg/test/v1alpha1"
)

// poolOf writes a pool as a NodePool that lets all of its nodes go at any time.
func poolOf(p *cluster.Pool) (*karpv1.NodePool, error) {
	if p.NotReady != "" {
		return nil, fmt.Errorf("pool %s: pools that are not ready are not carried over to the peer", p.Name)
	}
	out := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: p.Name, UID: types.UID(p.Name)}}
	out.Spec.Disruption = karpv1.Disruption{ConsolidationPolicy: karpv1.ConsolidationPolicyWhenEmptyOrUnderutilized,
		ConsolidateAfter: karpv1.MustParseNillableDuration("0s"), Budgets: []karpv1.Budget{{Nodes: "100%"}}}
	if p.Weight != 0 {
		out.Spec.Weight = new(int32(p.Weight))
	}
	if p.Limits != nil {
		out.Spec.Limits = karpv1.Limits(resourcesOf(p.Limits))
	}
	t := &out.Spec.Template
	t.Labels = p.Labels
	t.Spec.Taints, t.Spec.StartupTaints = taintsOf(p.Taints), taintsOf(p.StartupTaints)
	t.Spec.ExpireAfter = karpv1.MustParseNillableDuration(karpv1.Never)
	t.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: v1alpha1.Group, Kind: "TestNodeClass", Name: "default"}
	for _, r := range p.Requirements {
		if r.Key == requirement.NodePool {
			continue
		}
		q := karpv1.NodeSelectorRequirementWithMinValues{Key: r.Key, Operator: corev1.NodeSelectorOperator(r.Operator), Values: r.Values}
		if r.MinValues > 0 {
			q.MinValues = new(r.MinValues)
		}
		t.Spec.Requirements = append(t.Spec.Requirements, q)
	}
	if !slices.ContainsFunc(p.Requirements, func(r requirement.Term) bool { return r.Key == requirement.CapacityType }) {
		t.Spec.Requirements = append(t.Spec.Requirements, sold(p.Types))
	}
	for _, c := range []string{karpv1.ConditionTypeValidationSucceeded, karpv1.ConditionTypeNodeClassReady, karpv1.ConditionTypeNodeRegistrationHealthy, status.ConditionReady} {
		out.StatusConditions().SetTrue(c)
	}
	return out, nil
}

// sold demands one of the ways in which any of the types is sold. It changes nothing of what the pool means, but upstream's
// consolidation asks for spot wherever a pool does not exclude it.
func sold(types []*catalog.Type) karpv1.NodeSelectorRequirementWithMinValues {
	ways := map[string]bool{}
	for _, t := range types {
		for _, o := range t.Offerings {
			ways[o.CapacityType] = true
		}
	}
	return karpv1.NodeSelectorRequirementWithMinValues{Key: requirement.CapacityType, Operator: corev1.NodeSelectorOpIn, Values: slices.Sorted(maps.Keys(ways))}
}

// typeOf writes an instance type with its offerings.
func typeOf(t *catalog.Type, wellKnown sets.Set[string]) *cloudprovider.InstanceType {
	out := &cloudprovider.InstanceType{Name: t.Name, Capacity: resourcesOf(t.Capacity), Requirements: scheduling.NewRequirements(),
		Overhead: &cloudprovider.InstanceTypeOverhead{KubeReserved: resourcesOf(t.Overhead)}}
	for _, r := range t.Requirements {
		out.Requirements.Add(scheduling.NewRequirement(r.Key, corev1.NodeSelectorOperator(r.Operator), r.Values...))
	}
	for key := range wellKnown {
		// A label that the pool decides is no matter of the type.
		if !out.Requirements.Has(key) && key != requirement.NodePool && key != requirement.Hostname {
			out.Requirements.Add(scheduling.NewRequirement(key, corev1.NodeSelectorOpDoesNotExist))
		}
	}
	for _, o := range t.Offerings {
		out.Offerings = append(out.Offerings, &cloudprovider.Offering{Price: float64(o.Price) / 1e6, Available: o.Available, ReservationCapacity: o.Reservable,
			Requirements: scheduling.NewLabelRequirements(map[string]string{requirement.Zone: o.Zone, requirement.CapacityType: o.CapacityType})})
	}
	return out
}

// nodeOf writes a node that has joined, with its claim.
func nodeOf(n *cluster.Node) (*corev1.Node, *karpv1.NodeClaim, error) {
	if !n.Initialized || n.Deleting || n.DoNotDisrupt {
		return nil, nil, fmt.Errorf("node %s: only nodes that work and stay are carried over to the peer", n.Name)
	}
	labels := maps.Clone(n.Labels)
	labels[karpv1.NodeRegisteredLabelKey], labels[karpv1.NodeInitializedLabelKey] = "true", "true"
	labels[karpv1.NodeClassLabelKey(groupKind)] = "default"
	if n.Pool != "" {
		labels[requirement.NodePool] = n.Pool
	}
	room, capacity := resourcesOf(n.Allocatable), resourcesOf(n.Capacity)
	if n.Capacity == nil {
		capacity = resourcesOf(n.Allocatable)
	}
	provider := "peer:///" + n.Name
	created := metav1.NewTime(n.CreatedAt)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name, UID: types.UID("node-" + n.Name), Labels: labels, CreationTimestamp: created},
		Spec: corev1.NodeSpec{ProviderID: provider, Taints: taintsOf(n.Taints)},
		Status: corev1.NodeStatus{Capacity: capacity, Allocatable: room, Phase: corev1.NodeRunning,
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}}
	claim := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: n.Name, UID: types.UID("claim-" + n.Name), Labels: labels, CreationTimestamp: created},
		Spec: karpv1.NodeClaimSpec{Taints: taintsOf(n.Taints), ExpireAfter: karpv1.MustParseNillableDuration(karpv1.Never),
			NodeClassRef: &karpv1.NodeClassReference{Group: v1alpha1.Group, Kind: "TestNodeClass", Name: "default"}},
		Status: karpv1.NodeClaimStatus{ProviderID: provider, NodeName: n.Name, Capacity: capacity, Allocatable: room}}
	for _, c := range []string{karpv1.ConditionTypeLaunched, karpv1.ConditionTypeRegistered, karpv1.ConditionTypeInitialized, karpv1.ConditionTypeConsolidatable} {
		claim.StatusConditions().SetTrue(c)
	}
	return node, claim, nil
}
