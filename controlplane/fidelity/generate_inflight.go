package fidelity

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/apply"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// inFlight draws instances that were asked for and have not joined. The engine sees their NodeClaims, some launched and
// some not; on the control plane they have arrived, as one of the instances that the claim allows.
func (g *generator) inFlight() {
	if !g.maybe("in-flight") {
		return
	}
	for range 1 + g.rng.IntN(3) {
		g.claim(pick(g, g.c.Pools...))
	}
}

// claim draws one NodeClaim of the pool, unless what it draws suits none.
func (g *generator) claim(pool *karpv1.NodePool) {
	read := intake.Pool(pool, nodeClass(), g.c.Types)
	first := pick(g, g.c.Types...)
	at := pick(g, first.Offerings...)
	custom := pick(g, openLabels(pool)...)
	suits := func(t *catalog.Type) bool {
		o := slices.IndexFunc(t.Offerings, func(o catalog.Offering) bool { return o.Zone == at.Zone && o.CapacityType == at.CapacityType })
		if o < 0 || !buyable(t.Offerings[o]) || at.CapacityType == catalog.Reserved {
			return false
		}
		n := instance("claim", t, t.Offerings[o], custom, nil)
		return !slices.ContainsFunc(read.Requirements, func(r requirement.Term) bool { return !meets(r, n.Labels) })
	}
	nn := &plan.NewNode{Pool: pool.Name, Requirements: slices.Clone(read.Requirements), Requests: intake.Resources(corev1.ResourceList{
		corev1.ResourceCPU: quantity(pick(g, "100m", "500m", "1500m")), corev1.ResourceMemory: quantity(pick(g, "256Mi", "1Gi")), corev1.ResourcePods: quantity("4")})}
	for k, v := range custom {
		nn.Requirements = append(nn.Requirements, requirement.Term{Key: k, Operator: requirement.In, Values: []string{v}})
	}
	nn.Requirements = append(nn.Requirements, requirement.Term{Key: requirement.Zone, Operator: requirement.In, Values: []string{at.Zone}},
		requirement.Term{Key: requirement.CapacityType, Operator: requirement.In, Values: []string{at.CapacityType}})
	for _, t := range append([]*catalog.Type{first}, g.c.Types...) {
		if len(nn.Types) < 3 && suits(t) && roomy(t, nn) && !slices.ContainsFunc(nn.Types, func(c plan.TypeChoice) bool { return c.Name == t.Name }) {
			nn.Types = append(nn.Types, plan.TypeChoice{Name: t.Name, Zone: at.Zone, CapacityType: at.CapacityType})
		}
	}
	if len(nn.Types) == 0 {
		return
	}
	g.arrive(nn, pool, read)
}

// roomy reports whether an instance of the type has what the claim asks for.
func roomy(t *catalog.Type, nn *plan.NewNode) bool {
	have := t.Allocatable()
	for k, v := range nn.Requests {
		if have[k] < v {
			return false
		}
	}
	return true
}

// arrive makes the claim of the planned instance, and the instance that it becomes.
func (g *generator) arrive(nn *plan.NewNode, pool *karpv1.NodePool, read *cluster.Pool) {
	t, o, err := g.c.choose(nn, read, g.rng)
	if err != nil {
		return
	}
	name := g.name("arriving")
	claim := apply.NodeClaim(nn, pool, read)
	claim.Name, claim.GenerateName = name, ""
	claim.CreationTimestamp = metav1.NewTime(now)
	n := instance(name, t, o, claim.Labels, claim.Spec.Taints)
	if g.one(2) { // launched
		claim.Status.ProviderID = n.Spec.ProviderID
		claim.Status.Capacity, claim.Status.Allocatable = n.Status.Capacity, n.Status.Allocatable
		labels := typeLabels(t)
		for k, v := range offeringLabels(o) {
			labels[k] = v
		}
		for k, v := range claim.Labels {
			labels[k] = v
		}
		claim.Labels = labels
	}
	g.c.InFlight = append(g.c.InFlight, claim)
	g.c.Arrived = append(g.c.Arrived, Arrival{n, csiNodeOf(name, t)})
}
