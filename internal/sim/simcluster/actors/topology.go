package actors

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// together keeps those of the nodes where a pod is with the pods that it must be with, and apart from those that it must
// not be with, or that won't be with it.
func (b *board) together(p *corev1.Pod, fit []*seat) []*seat {
	var with, apart []corev1.PodAffinityTerm
	if a := p.Spec.Affinity; a != nil {
		if a.PodAffinity != nil {
			with = a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution
		}
		if a.PodAntiAffinity != nil {
			apart = a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
		}
	}
	for i := range with {
		t := &with[i]
		domains, any := b.domainsOf(t.TopologyKey, func(other *corev1.Pod) bool { return wants(t, p, other) })
		// The first of a group that is drawn to itself goes anywhere.
		first := !any && wants(t, p, p)
		fit = slices.DeleteFunc(fit, func(s *seat) bool {
			d, ok := s.node.Labels[t.TopologyKey]
			return !ok || !first && !domains[d]
		})
	}
	for i := range apart {
		t := &apart[i]
		domains, _ := b.domainsOf(t.TopologyKey, func(other *corev1.Pod) bool { return wants(t, p, other) })
		fit = slices.DeleteFunc(fit, func(s *seat) bool { return domains[s.node.Labels[t.TopologyKey]] })
	}
	if !b.guarded {
		return fit
	}
	closed := b.closedTo(p)
	return slices.DeleteFunc(fit, func(s *seat) bool {
		return slices.ContainsFunc(closed, func(c [2]string) bool { return s.node.Labels[c[0]] == c[1] })
	})
}

// closedTo are the domains, as key and value, where some pod is that keeps this one away.
func (b *board) closedTo(p *corev1.Pod) [][2]string {
	var out [][2]string
	for _, s := range b.seats {
		for _, other := range s.pods {
			if other.Spec.Affinity == nil || other.Spec.Affinity.PodAntiAffinity == nil {
				continue
			}
			for _, t := range other.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
				if d, ok := s.node.Labels[t.TopologyKey]; ok && wants(&t, other, p) {
					out = append(out, [2]string{t.TopologyKey, d})
				}
			}
		}
	}
	return out
}

// domainsOf are the domains of a topology in which a pod is that counts, and whether there is any such pod.
func (b *board) domainsOf(topology string, counts func(*corev1.Pod) bool) (map[string]bool, bool) {
	out, any := map[string]bool{}, false
	for _, s := range b.seats {
		d, ok := s.node.Labels[topology]
		if !slices.ContainsFunc(s.pods, func(p *corev1.Pod) bool { return p.DeletionTimestamp == nil && counts(p) }) {
			continue
		}
		any = true
		if ok {
			out[d] = true
		}
	}
	return out, any
}

// wants tells whether a term of a pod speaks of another.
func wants(t *corev1.PodAffinityTerm, of, other *corev1.Pod) bool {
	if len(t.Namespaces) == 0 && t.NamespaceSelector == nil && of.Namespace != other.Namespace || len(t.Namespaces) > 0 && t.NamespaceSelector == nil && !slices.Contains(t.Namespaces, other.Namespace) {
		return false
	}
	sel, err := metav1.LabelSelectorAsSelector(t.LabelSelector)
	return err == nil && sel.Matches(labels.Set(other.Labels))
}

// spread keeps those of the nodes where one more pod does not make its spread too uneven. The domains are those of nodes
// that the pod's node selector and affinity allow.
func (b *board) spread(p *corev1.Pod, fit []*seat) []*seat {
	for i := range p.Spec.TopologySpreadConstraints {
		t := &p.Spec.TopologySpreadConstraints[i]
		if t.WhenUnsatisfiable != corev1.DoNotSchedule {
			continue
		}
		sel, err := metav1.LabelSelectorAsSelector(t.LabelSelector)
		if err != nil {
			return nil
		}
		counts := b.countsOf(p, t, sel)
		least, domains := -1, int32(0)
		for _, n := range counts {
			domains++
			if least < 0 || n < least {
				least = n
			}
		}
		if t.MinDomains != nil && domains < *t.MinDomains {
			least = 0
		}
		self := 0
		if sel.Matches(labels.Set(p.Labels)) {
			self = 1
		}
		fit = slices.DeleteFunc(fit, func(s *seat) bool {
			d, ok := s.node.Labels[t.TopologyKey]
			return !ok || counts[d]+self-max(least, 0) > int(t.MaxSkew)
		})
	}
	return fit
}

// countsOf counts the pods that a constraint speaks of in each domain.
func (b *board) countsOf(p *corev1.Pod, t *corev1.TopologySpreadConstraint, sel labels.Selector) map[string]int {
	out := map[string]int{}
	heedTaints := t.NodeTaintsPolicy != nil && *t.NodeTaintsPolicy == corev1.NodeInclusionPolicyHonor
	heedAffinity := t.NodeAffinityPolicy == nil || *t.NodeAffinityPolicy == corev1.NodeInclusionPolicyHonor
	for _, s := range b.seats {
		d, ok := s.node.Labels[t.TopologyKey]
		if !ok || heedAffinity && !selects(p, s.node) || heedTaints && !admits(s.node, p) {
			continue
		}
		n := 0
		for _, other := range s.pods {
			if other.Namespace == p.Namespace && other.DeletionTimestamp == nil && sel.Matches(labels.Set(other.Labels)) {
				n++
			}
		}
		out[d] += n
	}
	return out
}
