package intake

import (
	"encoding/binary"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// key is a byte string that is equal for two pods only if they compile to the same class. It holds the raw fields, so
// that making it is much cheaper than compiling.
//
// Invariant: whatever compile reads is written here, each part with its length, so that no two contents share a key.
type key struct {
	b    []byte
	keys []string // scratch for sorted map keys
}

func (k *key) num(n int64)  { k.b = binary.AppendVarint(k.b, n) }
func (k *key) str(s string) { k.num(int64(len(s))); k.b = append(k.b, s...) }
func (k *key) flag(f bool)  { k.num(int64(boolCompare(f, false))) }
func (k *key) strs(s []string) {
	k.num(int64(len(s)))
	for _, v := range s {
		k.str(v)
	}
}

func (k *key) amounts(list corev1.ResourceList) {
	k.keys = k.keys[:0]
	for name := range list {
		k.keys = append(k.keys, string(name))
	}
	slices.Sort(k.keys)
	k.num(int64(len(k.keys)))
	for _, name := range k.keys {
		k.str(name)
		q := list[corev1.ResourceName(name)]
		k.amount(name, q)
	}
}

func (k *key) amount(name string, q resource.Quantity) {
	if v, ok := q.AsInt64(); ok {
		k.num(0)
		k.num(v)
		return
	}
	if name == string(corev1.ResourceCPU) {
		m := q.MilliValue()
		if whole := resource.NewMilliQuantity(m, resource.DecimalSI); q.Cmp(*whole) == 0 {
			k.num(1)
			k.num(m)
			return
		}
	}
	k.num(2)
	k.str(q.String())
}

func (k *key) labels(m map[string]string, visible map[string]bool) {
	k.keys = k.keys[:0]
	for name := range m {
		if visible == nil || visible[name] {
			k.keys = append(k.keys, name)
		}
	}
	slices.Sort(k.keys)
	k.num(int64(len(k.keys)))
	for _, name := range k.keys {
		k.str(name)
		k.str(m[name])
	}
}

func (k *key) labelSelector(s *metav1.LabelSelector) {
	k.flag(s != nil)
	if s == nil {
		return
	}
	k.labels(s.MatchLabels, nil)
	k.num(int64(len(s.MatchExpressions)))
	for i := range s.MatchExpressions {
		e := &s.MatchExpressions[i]
		k.str(e.Key)
		k.str(string(e.Operator))
		k.strs(e.Values)
	}
}

func (k *key) nodeTerm(t *corev1.NodeSelectorTerm) {
	for _, list := range [][]corev1.NodeSelectorRequirement{t.MatchExpressions, t.MatchFields} {
		k.num(int64(len(list)))
		for i := range list {
			k.str(list[i].Key)
			k.str(string(list[i].Operator))
			k.strs(list[i].Values)
		}
	}
}

func (k *key) terms(alternatives [][]requirement.Term) {
	k.num(int64(len(alternatives)))
	for _, a := range alternatives {
		k.num(int64(len(a)))
		for _, t := range a {
			k.str(t.Key)
			k.str(string(t.Operator))
			k.strs(t.Values)
		}
	}
}

func (k *key) volumes(v *volumes) {
	k.terms(v.terms)
	k.str(v.problem)
	k.num(int64(len(v.own)))
	for _, driver := range slices.Sorted(maps.Keys(v.own)) {
		k.str(driver)
		k.num(v.own[driver])
	}
	k.num(int64(len(v.shared)))
	for _, x := range v.shared {
		k.str(x.Driver)
		k.str(x.Volume)
	}
}

// pod writes everything that compile reads of the pod, besides the answers of Lookup.
func (k *key) pod(pod *corev1.Pod, visible map[string]bool) {
	spec := &pod.Spec
	k.str(pod.Namespace)
	k.labels(pod.Labels, visible)
	k.labels(spec.NodeSelector, nil)
	k.flag(spec.OS != nil)
	if spec.OS != nil {
		k.str(string(spec.OS.Name))
	}
	k.affinity(pod)
	k.num(int64(len(spec.Tolerations)))
	for i := range spec.Tolerations {
		t := &spec.Tolerations[i]
		k.str(t.Key)
		k.str(string(t.Operator))
		k.str(t.Value)
		k.str(string(t.Effect))
	}
	k.containers(spec.Containers)
	k.containers(spec.InitContainers)
	k.resize(pod)
	k.amounts(spec.Overhead)
	k.flag(spec.Resources != nil)
	if spec.Resources != nil {
		k.amounts(spec.Resources.Requests)
	}
	k.num(int64(len(spec.TopologySpreadConstraints)))
	for i := range spec.TopologySpreadConstraints {
		k.spread(&spec.TopologySpreadConstraints[i], pod.Labels)
	}
	k.flag(spec.Priority != nil)
	if spec.Priority != nil {
		k.num(int64(*spec.Priority))
	}
	k.num(int64(len(spec.ResourceClaims)))
}

func (k *key) containers(list []corev1.Container) {
	k.num(int64(len(list)))
	for i := range list {
		c := &list[i]
		k.flag(isSidecar(c))
		k.amounts(c.Resources.Requests)
		for j := range c.Ports {
			if p := &c.Ports[j]; p.HostPort > 0 {
				k.num(int64(p.HostPort))
				k.str(p.HostIP)
				k.str(string(p.Protocol))
			}
		}
		k.num(0)
	}
}

// resize writes what the status says of resources, if it differs from the spec: in-place resize is the exception.
func (k *key) resize(pod *corev1.Pod) {
	for _, list := range [][]corev1.ContainerStatus{pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses} {
		for i := range list {
			s := &list[i]
			if s.Resources == nil || sameAsSpec(pod, s) {
				continue
			}
			k.str(s.Name)
			k.amounts(s.Resources.Requests)
			k.amounts(s.AllocatedResources)
			k.flag(infeasible(pod))
		}
	}
	k.num(-1)
	if pod.Status.Resources != nil {
		k.amounts(pod.Status.Resources.Requests)
		k.amounts(pod.Status.AllocatedResources)
		k.flag(infeasible(pod))
	}
}

func infeasible(pod *corev1.Pod) bool {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodResizePending {
			return c.Reason == corev1.PodReasonInfeasible
		}
	}
	return false
}

func sameAsSpec(pod *corev1.Pod, s *corev1.ContainerStatus) bool {
	for _, list := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range list {
			if list[i].Name == s.Name {
				want := list[i].Resources.Requests
				return sameAmounts(want, s.Resources.Requests) && (s.AllocatedResources == nil || sameAmounts(want, s.AllocatedResources))
			}
		}
	}
	return false
}

func sameAmounts(a, b corev1.ResourceList) bool {
	return maps.EqualFunc(a, b, func(x, y resource.Quantity) bool { return x.Cmp(y) == 0 })
}

func (k *key) affinity(pod *corev1.Pod) {
	a := pod.Spec.Affinity
	k.flag(a != nil)
	if a == nil {
		return
	}
	k.flag(a.NodeAffinity != nil)
	if n := a.NodeAffinity; n != nil {
		k.flag(n.RequiredDuringSchedulingIgnoredDuringExecution != nil)
		if r := n.RequiredDuringSchedulingIgnoredDuringExecution; r != nil {
			k.num(int64(len(r.NodeSelectorTerms)))
			for i := range r.NodeSelectorTerms {
				k.nodeTerm(&r.NodeSelectorTerms[i])
			}
		}
		k.num(int64(len(n.PreferredDuringSchedulingIgnoredDuringExecution)))
		for i := range n.PreferredDuringSchedulingIgnoredDuringExecution {
			p := &n.PreferredDuringSchedulingIgnoredDuringExecution[i]
			k.num(int64(p.Weight))
			k.nodeTerm(&p.Preference)
		}
	}
	k.flag(a.PodAffinity != nil)
	if p := a.PodAffinity; p != nil {
		k.podTerms(p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution, pod.Labels)
	}
	k.flag(a.PodAntiAffinity != nil)
	if p := a.PodAntiAffinity; p != nil {
		k.podTerms(p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution, pod.Labels)
	}
}

func (k *key) podTerms(required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm, labels map[string]string) {
	k.num(int64(len(required)))
	for i := range required {
		k.podTerm(&required[i], labels)
	}
	k.num(int64(len(preferred)))
	for i := range preferred {
		k.num(int64(preferred[i].Weight))
		k.podTerm(&preferred[i].PodAffinityTerm, labels)
	}
}

func (k *key) podTerm(t *corev1.PodAffinityTerm, labels map[string]string) {
	k.str(t.TopologyKey)
	k.labelSelector(t.LabelSelector)
	k.strs(t.Namespaces)
	k.labelSelector(t.NamespaceSelector)
	k.ownValues(t.MatchLabelKeys, labels)
	k.ownValues(t.MismatchLabelKeys, labels)
}

func (k *key) spread(c *corev1.TopologySpreadConstraint, labels map[string]string) {
	k.str(c.TopologyKey)
	k.num(int64(c.MaxSkew))
	k.str(string(c.WhenUnsatisfiable))
	k.labelSelector(c.LabelSelector)
	k.ownValues(c.MatchLabelKeys, labels)
	k.num(-1)
	if c.MinDomains != nil {
		k.num(int64(*c.MinDomains))
	}
	k.flag(c.NodeTaintsPolicy != nil && *c.NodeTaintsPolicy == corev1.NodeInclusionPolicyHonor)
	k.flag(c.NodeAffinityPolicy != nil && *c.NodeAffinityPolicy == corev1.NodeInclusionPolicyIgnore)
}

func (k *key) ownValues(keys []string, labels map[string]string) {
	k.num(int64(len(keys)))
	for _, name := range keys {
		v, ok := labels[name]
		k.str(name)
		k.flag(ok)
		k.str(v)
	}
}
