package workload

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// generatedLabels are set by controllers, differ from pod to pod or from rollout to rollout, and steer nothing.
var generatedLabels = []string{
	"pod-template-hash", "controller-revision-hash", "pod-template-generation", "statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index",
	"job-name", "batch.kubernetes.io/job-name", "controller-uid", "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-completion-index",
	"rollouts-pod-template-hash", "topology.kubernetes.io/region", "topology.kubernetes.io/zone",
}

// keptAnnotations are those by which an autoscaler decides; names that end in / stand for all below.
var keptAnnotations = []string{"karpenter.sh/", "kerf.sh/", "cluster-autoscaler.kubernetes.io/safe-to-evict", "controller.kubernetes.io/pod-deletion-cost"}

// TemplateOf is a template of pods like a pod, or like those of an owner's template: what it asks for, by what it is placed and what it is
// known by, without what differs between pods of one owner. What it shares with the pod is not to be changed. Volumes are left out.
func TemplateOf(meta *metav1.ObjectMeta, spec *corev1.PodSpec, daemon bool) *corev1.PodTemplateSpec {
	t := &corev1.PodTemplateSpec{}
	for k, v := range meta.Labels {
		if !slices.Contains(generatedLabels, k) {
			setIn(&t.Labels, k, v)
		}
	}
	for k, v := range meta.Annotations {
		if slices.ContainsFunc(keptAnnotations, func(kept string) bool {
			return k == kept || strings.HasSuffix(kept, "/") && strings.HasPrefix(k, kept)
		}) {
			setIn(&t.Annotations, k, v)
		}
	}
	s := &t.Spec
	s.NodeSelector, s.PriorityClassName, s.Overhead, s.HostNetwork = spec.NodeSelector, spec.PriorityClassName, spec.Overhead, spec.HostNetwork
	s.OS = spec.OS
	if spec.Priority != nil && *spec.Priority != 0 {
		s.Priority = spec.Priority
	}
	if spec.TerminationGracePeriodSeconds != nil && *spec.TerminationGracePeriodSeconds != corev1.DefaultTerminationGracePeriodSeconds {
		s.TerminationGracePeriodSeconds = spec.TerminationGracePeriodSeconds
	}
	if spec.Resources != nil {
		s.Resources = &corev1.ResourceRequirements{Requests: spec.Resources.Requests, Limits: spec.Resources.Limits}
	}
	s.Affinity = affinity(spec.Affinity)
	for _, o := range spec.Tolerations {
		if !addedToleration(&o, daemon) {
			s.Tolerations = append(s.Tolerations, o)
		}
	}
	for _, c := range spec.TopologySpreadConstraints {
		c.LabelSelector = selector(c.LabelSelector)
		s.TopologySpreadConstraints = append(s.TopologySpreadConstraints, c)
	}
	s.InitContainers = containers(spec.InitContainers)
	s.Containers = containers(spec.Containers)
	return t
}

// containers keep their names, what they request and their ports on the host.
func containers(all []corev1.Container) []corev1.Container {
	var out []corev1.Container
	for i := range all {
		c := corev1.Container{Name: all[i].Name, Image: "none", RestartPolicy: all[i].RestartPolicy}
		c.Resources.Requests, c.Resources.Limits = all[i].Resources.Requests, all[i].Resources.Limits
		for _, p := range all[i].Ports {
			if p.HostPort != 0 {
				c.Ports = append(c.Ports, p)
			}
		}
		out = append(out, c)
	}
	return out
}

// addedToleration tells whether the API server or the DaemonSet controller added a toleration.
//
// Source: the admission plugin DefaultTolerationSeconds; Kubernetes documentation, DaemonSet, "Taints and tolerations".
func addedToleration(t *corev1.Toleration, daemon bool) bool {
	if !strings.HasPrefix(t.Key, "node.kubernetes.io/") || t.Operator != corev1.TolerationOpExists {
		return false
	}
	if daemon {
		return true
	}
	return t.Effect == corev1.TaintEffectNoExecute && t.TolerationSeconds != nil && *t.TolerationSeconds == 300 &&
		(t.Key == corev1.TaintNodeNotReady || t.Key == corev1.TaintNodeUnreachable)
}

// affinity is without the node's name that the DaemonSet controller requires of each of its pods.
func affinity(a *corev1.Affinity) *corev1.Affinity {
	if a == nil || a.NodeAffinity == nil || a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return a
	}
	var terms []corev1.NodeSelectorTerm
	for _, t := range a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		if t.MatchFields = nil; len(t.MatchExpressions) > 0 {
			terms = append(terms, t)
		}
	}
	out := a.DeepCopy()
	out.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = nil
	if len(terms) > 0 {
		out.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{NodeSelectorTerms: terms}
	}
	if out.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil && len(out.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution) == 0 {
		out.NodeAffinity = nil
	}
	if out.NodeAffinity == nil && out.PodAffinity == nil && out.PodAntiAffinity == nil {
		return nil
	}
	return out
}

// selector is without generated labels, which the API server adds to it for matchLabelKeys.
func selector(s *metav1.LabelSelector) *metav1.LabelSelector {
	if s == nil || !slices.ContainsFunc(s.MatchExpressions, generated) {
		return s
	}
	out := s.DeepCopy()
	out.MatchExpressions = slices.DeleteFunc(out.MatchExpressions, generated)
	if len(out.MatchExpressions) == 0 {
		out.MatchExpressions = nil
	}
	return out
}

func generated(r metav1.LabelSelectorRequirement) bool {
	return slices.Contains(generatedLabels, r.Key)
}

func setIn(m *map[string]string, k, v string) {
	if *m == nil {
		*m = map[string]string{}
	}
	(*m)[k] = v
}
