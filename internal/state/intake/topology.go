package intake

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// spreads converts topology spread constraints.
//
// Source: kube-scheduler's pod topology spread plug-in, v1.36, by trying it.
func spreads(pod *corev1.Pod) ([]cluster.Spread, error) {
	var out []cluster.Spread
	for _, c := range pod.Spec.TopologySpreadConstraints {
		sel, err := selector(c.LabelSelector)
		if err != nil {
			return nil, fmt.Errorf("topology spread constraint on %q: %w", c.TopologyKey, err)
		}
		if c.MaxSkew <= 0 || c.TopologyKey == "" {
			return nil, fmt.Errorf("topology spread constraint on %q: maxSkew must be above zero and topologyKey not empty", c.TopologyKey)
		}
		s := cluster.Spread{
			Key:         Key(c.TopologyKey),
			MaxSkew:     int(c.MaxSkew),
			Selector:    mergeLabelKeys(sel, c.MatchLabelKeys, requirement.In, pod.Labels),
			Soft:        c.WhenUnsatisfiable == corev1.ScheduleAnyway,
			HonorTaints: c.NodeTaintsPolicy != nil && *c.NodeTaintsPolicy == corev1.NodeInclusionPolicyHonor,
			IgnoreAffinity: c.NodeAffinityPolicy != nil &&
				*c.NodeAffinityPolicy == corev1.NodeInclusionPolicyIgnore,
		}
		if s.Selector != nil && len(s.Selector.Terms) == 0 {
			// The scheduler counts no pod at all for a selector without terms, though everywhere else it selects all.
			s.Selector = nil
		}
		if c.MinDomains != nil {
			s.MinDomains = int(*c.MinDomains)
		}
		out = append(out, s)
	}
	return out, nil
}

// podAffinity converts the required and preferred terms of pod affinity or anti-affinity.
func podAffinity(pod *corev1.Pod, required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm, look Lookup) ([]cluster.PodAffinity, error) {
	var out []cluster.PodAffinity
	for _, t := range required {
		a, err := affinityTerm(pod, t, look)
		if err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	for _, w := range preferred {
		a, err := affinityTerm(pod, w.PodAffinityTerm, look)
		if err != nil || w.Weight <= 0 {
			continue // a preference that can't be read is no reason to leave the pod without a node
		}
		a.Weight = int(w.Weight)
		out = append(out, a)
	}
	return out, nil
}

func affinityTerm(pod *corev1.Pod, t corev1.PodAffinityTerm, look Lookup) (cluster.PodAffinity, error) {
	sel, err := selector(t.LabelSelector)
	if err != nil {
		return cluster.PodAffinity{}, fmt.Errorf("pod affinity term on %q: %w", t.TopologyKey, err)
	}
	if t.TopologyKey == "" {
		return cluster.PodAffinity{}, fmt.Errorf("a pod affinity term has no topologyKey")
	}
	sel = mergeLabelKeys(sel, t.MatchLabelKeys, requirement.In, pod.Labels)
	sel = mergeLabelKeys(sel, t.MismatchLabelKeys, requirement.NotIn, pod.Labels)
	names := termNamespaces(pod.Namespace, t, look)
	if len(names) == 0 {
		sel = nil // no namespace has the labels that are asked for, and no list would mean the pod's own
	}
	return cluster.PodAffinity{Key: Key(t.TopologyKey), Selector: sel, Namespaces: names}, nil
}

// termNamespaces resolves where a term looks: the pod's own namespace when it says nothing; otherwise those that it
// lists and those that its selector finds (an empty selector finds all). It may find none.
func termNamespaces(own string, t corev1.PodAffinityTerm, look Lookup) []string {
	if len(t.Namespaces) == 0 && t.NamespaceSelector == nil {
		return []string{own}
	}
	names := slices.Clone(t.Namespaces)
	if t.NamespaceSelector != nil {
		if sel, err := metav1.LabelSelectorAsSelector(t.NamespaceSelector); err == nil {
			names = append(names, look.SelectNamespaces(sel)...)
		}
	}
	return sortedSet(names)
}

// DependsOnNamespaces reports whether the meaning of the pod changes with the labels of namespaces.
func DependsOnNamespaces(pod *corev1.Pod) bool {
	found := false
	eachAffinityTerm(pod, func(t *corev1.PodAffinityTerm) { found = found || t.NamespaceSelector != nil })
	return found
}

// eachAffinityTerm calls f for every pod affinity and anti-affinity term of the pod, in a fixed order.
func eachAffinityTerm(pod *corev1.Pod, f func(*corev1.PodAffinityTerm)) {
	a := pod.Spec.Affinity
	if a == nil {
		return
	}
	if p := a.PodAffinity; p != nil {
		for i := range p.RequiredDuringSchedulingIgnoredDuringExecution {
			f(&p.RequiredDuringSchedulingIgnoredDuringExecution[i])
		}
		for i := range p.PreferredDuringSchedulingIgnoredDuringExecution {
			f(&p.PreferredDuringSchedulingIgnoredDuringExecution[i].PodAffinityTerm)
		}
	}
	if p := a.PodAntiAffinity; p != nil {
		for i := range p.RequiredDuringSchedulingIgnoredDuringExecution {
			f(&p.RequiredDuringSchedulingIgnoredDuringExecution[i])
		}
		for i := range p.PreferredDuringSchedulingIgnoredDuringExecution {
			f(&p.PreferredDuringSchedulingIgnoredDuringExecution[i].PodAffinityTerm)
		}
	}
}
