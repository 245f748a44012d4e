package demo

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/apply"
)

// narrate tells what is new of the instances.
func (r *run) narrate() {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	names := make([]string, 0, len(r.state.claims))
	for name := range r.state.claims {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		claim := r.state.claims[name]
		stage, text := r.stage(claim)
		if stage != "" && r.told[name] != stage {
			r.told[name] = stage
			r.line("%s", text)
		}
	}
	for name, stage := range r.told {
		if r.state.claims[name] == nil && stage != "gone" {
			r.told[name] = "gone"
			r.line("instance %s is gone", name)
		}
	}
}

// stage is where a claim stands, and how to tell it.
func (r *run) stage(claim *karpv1.NodeClaim) (stage, text string) {
	conditions := claim.StatusConditions()
	switch {
	case !claim.DeletionTimestamp.IsZero():
		return "going", fmt.Sprintf("instance %s is removed: it takes no new pods, the others move", claim.Name)
	case conditions.IsTrue(karpv1.ConditionTypeInitialized):
		return "ready", fmt.Sprintf("instance %s is ready as %s, %.1f s after it was asked for", claim.Name, claim.Status.NodeName, time.Since(claim.CreationTimestamp.Time).Seconds())
	case claim.Status.ProviderID != "":
		return "launched", fmt.Sprintf("instance %s is launched: %s in %s, %s, $%.4f/h; why: %s", claim.Name, claim.Labels[corev1.LabelInstanceTypeStable],
			claim.Labels[corev1.LabelTopologyZone], claim.Labels[karpv1.CapacityTypeLabelKey], r.priceOf(claim), cmp.Or(claim.Annotations[apply.WhyAnnotation], "not told"))
	}
	return "", ""
}

// priceOf is an instance's price per hour in dollars, from the same dated facts that the simulated AWS sells by.
func (r *run) priceOf(claim *karpv1.NodeClaim) float64 {
	name, zone := claim.Labels[corev1.LabelInstanceTypeStable], claim.Labels[corev1.LabelTopologyZone]
	if claim.Labels[karpv1.CapacityTypeLabelKey] == karpv1.CapacityTypeSpot {
		p, _ := r.facts.Spot(r.cluster.Region, zone, name)
		return float64(p.MicroUSD) / 1e6
	}
	return float64(r.listed[name].MicroUSD) / 1e6
}

func (r *run) price() float64 {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	sum := 0.0
	for _, claim := range r.state.claims {
		if claim.Status.ProviderID != "" {
			sum += r.priceOf(claim)
		}
	}
	return sum
}
