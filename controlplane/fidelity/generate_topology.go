package fidelity

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

// selects is mostly the pod's own app, at times another one, everything, or something more tangled.
func (g *generator) selects(labels map[string]string) *metav1.LabelSelector {
	switch g.rng.IntN(12) {
	case 11:
		return nil // selects nothing
	case 0:
		return &metav1.LabelSelector{}
	case 1:
		return &metav1.LabelSelector{MatchLabels: map[string]string{"app": pick(g, "web", "db", "job")}}
	case 2:
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpNotIn, Values: []string{pick(g, "web", "db")}}}}
	case 3:
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "side-car", Operator: pick(g, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist)}}}
	default:
		return &metav1.LabelSelector{MatchLabels: map[string]string{"app": labels["app"]}}
	}
}

func (g *generator) spreads(grp *group) {
	have := map[string]bool{}
	add := func(key string, soft bool) {
		when := corev1.DoNotSchedule
		if soft {
			when = corev1.ScheduleAnyway
		}
		if have[key+string(when)] {
			return
		}
		have[key+string(when)] = true
		c := corev1.TopologySpreadConstraint{TopologyKey: key, MaxSkew: int32(pick(g, 1, 1, 1, 2, 3)), WhenUnsatisfiable: when, LabelSelector: g.selects(grp.labels)}
		if !soft && g.one(4) {
			c.MinDomains = new(int32(1 + g.rng.IntN(4)))
		}
		if g.one(4) {
			c.NodeAffinityPolicy = new(pick(g, corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore))
		}
		if g.one(4) {
			c.NodeTaintsPolicy = new(pick(g, corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore))
		}
		if g.one(4) && c.LabelSelector != nil {
			c.MatchLabelKeys = []string{"version"}
		}
		grp.spec.TopologySpreadConstraints = append(grp.spec.TopologySpreadConstraints, c)
	}
	if g.maybe("spread-zone") {
		add(corev1.LabelTopologyZone, false)
	}
	if g.maybe("spread-host") {
		add(corev1.LabelHostname, false)
	}
	if g.maybe("spread-other") {
		keys := []string{karpv1.CapacityTypeLabelKey, tierKey, teamKey, corev1.LabelArchStable, karpv1.NodePoolLabelKey}
		if !g.choosy() {
			keys = append(keys, awsv1.LabelInstanceFamily)
		}
		add(pick(g, keys...), false)
	}
	if g.maybe("spread-soft") {
		add(pick(g, corev1.LabelTopologyZone, corev1.LabelHostname, karpv1.CapacityTypeLabelKey), true)
	}
}

// choosy reports whether a pool demands several values of something. Which family an instance is of then stays open until it
// is launched, and the engine does not count its pods for spreads over families.
func (g *generator) choosy() bool {
	for _, p := range g.c.Pools {
		for _, r := range p.Spec.Template.Spec.Requirements {
			if r.MinValues != nil && *r.MinValues > 1 {
				return true
			}
		}
	}
	return false
}

func (g *generator) neighbours(grp *group) {
	a := &corev1.Affinity{}
	if grp.spec.Affinity != nil {
		a = grp.spec.Affinity
	}
	if g.maybe("pod-affinity") {
		a.PodAffinity = &corev1.PodAffinity{}
		if g.one(3) {
			a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution = []corev1.WeightedPodAffinityTerm{{Weight: 7, PodAffinityTerm: g.term(grp, 2)}}
		} else {
			a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution = []corev1.PodAffinityTerm{g.term(grp, 2)}
		}
	}
	if g.maybe("anti-affinity") {
		a.PodAntiAffinity = &corev1.PodAntiAffinity{}
		if g.one(3) {
			a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution = []corev1.WeightedPodAffinityTerm{{Weight: 9, PodAffinityTerm: g.term(grp, 4)}}
		} else {
			a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution = []corev1.PodAffinityTerm{g.term(grp, 4)}
		}
	}
	if a.NodeAffinity != nil || a.PodAffinity != nil || a.PodAntiAffinity != nil {
		grp.spec.Affinity = a
	}
}

// term is about hosts, or once in every few times about zones or something else.
func (g *generator) term(grp *group, hosts int) corev1.PodAffinityTerm {
	t := corev1.PodAffinityTerm{TopologyKey: corev1.LabelHostname, LabelSelector: g.selects(grp.labels)}
	if g.one(hosts) {
		t.TopologyKey = pick(g, corev1.LabelTopologyZone, corev1.LabelTopologyZone, karpv1.CapacityTypeLabelKey, tierKey, corev1.LabelFailureDomainBetaZone)
	}
	switch g.rng.IntN(8) {
	case 0:
		t.Namespaces = []string{pick(g, spaceA, spaceB)}
	case 1:
		t.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"side": pick(g, "left", "right")}}
	case 2:
		t.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"kind": "fidelity"}}
	case 3:
		if len(g.c.DaemonSets) == 0 { // their namespace is for nobody to select, see there
			t.NamespaceSelector = &metav1.LabelSelector{} // all
		}
	}
	if t.LabelSelector == nil {
		return t // the API has no key match without a selector
	}
	switch g.rng.IntN(8) {
	case 0:
		t.MatchLabelKeys = []string{"version"}
	case 1:
		t.MismatchLabelKeys = []string{"version"}
	}
	return t
}
