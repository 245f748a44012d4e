package fidelity

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/api/status"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
)

func (g *generator) pools() {
	for range 1 + g.rng.IntN(4) {
		g.c.Pools = append(g.c.Pools, g.pool())
	}
}

func (g *generator) pool() *karpv1.NodePool {
	p := &karpv1.NodePool{}
	p.Name = g.name("pool")
	p.UID = "uid-" + "pool"
	t := &p.Spec.Template
	t.Labels = map[string]string{}
	t.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: "default"}
	if g.one(3) {
		t.Labels[teamKey] = pick(g, "red", "blue")
	}
	g.poolRequirements(t)
	g.poolTaints(t)
	if g.maybe("weights") || g.one(4) {
		p.Spec.Weight = new(int32(pick(g, 1, 10, 50)))
	}
	if g.maybe("limits") {
		p.Spec.Limits = karpv1.Limits{}
		if g.one(2) {
			p.Spec.Limits[corev1.ResourceCPU] = *resource.NewQuantity(int64(2+g.rng.IntN(20)), resource.DecimalSI)
		}
		if g.one(2) {
			p.Spec.Limits["nodes"] = *resource.NewQuantity(int64(1+g.rng.IntN(5)), resource.DecimalSI)
		}
	}
	for _, kind := range []string{karpv1.ConditionTypeValidationSucceeded, karpv1.ConditionTypeNodeClassReady, karpv1.ConditionTypeReady} {
		p.Status.Conditions = append(p.Status.Conditions, status.Condition{Type: kind, Status: "True"})
	}
	return p
}

func (g *generator) poolRequirements(t *karpv1.NodeClaimTemplate) {
	add := func(min int, key string, op corev1.NodeSelectorOperator, values ...string) {
		r := karpv1.NodeSelectorRequirementWithMinValues{Key: key, Operator: op, Values: values}
		if min > 0 {
			r.MinValues = new(min)
		}
		t.Spec.Requirements = append(t.Spec.Requirements, r)
	}
	chosen := some(g, families...)
	most := 0
	if g.maybe("min-values") {
		most = 1 + g.rng.IntN(len(chosen))
	}
	add(most, awsv1.LabelInstanceFamily, corev1.NodeSelectorOpIn, chosen...)
	if g.maybe("min-values") {
		add(2+g.rng.IntN(6), corev1.LabelInstanceTypeStable, corev1.NodeSelectorOpExists)
	}
	switch g.rng.IntN(5) {
	case 0:
		add(0, karpv1.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, catalog.OnDemand)
	case 1:
		add(0, karpv1.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, catalog.Spot)
	case 2:
		add(0, karpv1.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, catalog.OnDemand, catalog.Spot)
	default:
		add(0, karpv1.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, catalog.OnDemand, catalog.Reserved, catalog.Spot)
	}
	if g.one(4) {
		add(0, corev1.LabelTopologyZone, corev1.NodeSelectorOpIn, some(g, zones...)...)
	}
	if g.one(6) {
		add(0, corev1.LabelTopologyZone, corev1.NodeSelectorOpNotIn, pick(g, zones...))
	}
	switch g.rng.IntN(8) {
	case 0:
		add(0, awsv1.LabelInstanceCPU, corev1.NodeSelectorOpGt, pick(g, "1", "2", "4"))
	case 1:
		add(0, awsv1.LabelInstanceCPU, corev1.NodeSelectorOpLt, pick(g, "9", "16"))
	case 2:
		add(0, awsv1.LabelInstanceCPU, karpv1.NodeSelectorOpGte, "2")
		add(0, awsv1.LabelInstanceCPU, karpv1.NodeSelectorOpLte, "8")
	case 3:
		add(0, awsv1.LabelInstanceSize, corev1.NodeSelectorOpNotIn, some(g, sizes[1:3]...)...)
	}
	g.customRequirements(add)
}

func (g *generator) customRequirements(add func(int, string, corev1.NodeSelectorOperator, ...string)) {
	if g.maybe("custom-labels") || g.one(6) {
		add(0, tierKey, corev1.NodeSelectorOpIn, some(g, "gold", "silver", "tin")...)
	}
	if g.maybe("custom-labels") {
		add(0, rankKey, corev1.NodeSelectorOpGt, strconv.Itoa(g.rng.IntN(4)))
		add(0, rankKey, corev1.NodeSelectorOpLt, strconv.Itoa(6+g.rng.IntN(4)))
	}
	if g.maybe("custom-labels") {
		add(0, anyKey, corev1.NodeSelectorOpExists)
	}
}

func (g *generator) poolTaints(t *karpv1.NodeClaimTemplate) {
	if g.maybe("taints") || g.one(8) {
		t.Spec.Taints = append(t.Spec.Taints, corev1.Taint{Key: "dedicated", Value: pick(g, "red", "blue"),
			Effect: pick(g, corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute)})
	}
	if g.maybe("taints") {
		t.Spec.Taints = append(t.Spec.Taints, corev1.Taint{Key: "disliked", Effect: corev1.TaintEffectPreferNoSchedule})
	}
	if g.one(5) {
		t.Spec.StartupTaints = append(t.Spec.StartupTaints, corev1.Taint{Key: "starting", Effect: corev1.TaintEffectNoSchedule})
	}
}
