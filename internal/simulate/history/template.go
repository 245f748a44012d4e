package history

import (
	"encoding/json"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// template is a pod's template without what differs between pods of one owner. Templates that say the same are one pointer.
type template struct {
	spec *corev1.PodTemplateSpec
	key  string // what it says, as JSON
	// claims is how many volumes were left out that are bound to PersistentVolumeClaims.
	claims int
}

// generatedLabels are set by controllers, differ from pod to pod or from rollout to rollout, and steer nothing.
var generatedLabels = []string{
	"pod-template-hash", "controller-revision-hash", "pod-template-generation", "statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index",
	"job-name", "batch.kubernetes.io/job-name", "controller-uid", "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-completion-index",
	"rollouts-pod-template-hash", "topology.kubernetes.io/region", "topology.kubernetes.io/zone",
}

// keptAnnotations are those by which an autoscaler decides; names that end in / stand for all below.
var keptAnnotations = []string{"karpenter.sh/", "kerf.sh/", "cluster-autoscaler.kubernetes.io/safe-to-evict", "controller.kubernetes.io/pod-deletion-cost"}

// intern returns the one template that says what a pod or a template of an owner says, without what differs between pods.
func (l *ledger) intern(meta metav1.ObjectMeta, spec *corev1.PodSpec, daemon bool) *template {
	t := &template{spec: &corev1.PodTemplateSpec{}}
	for k, v := range meta.Labels {
		if !slices.Contains(generatedLabels, k) {
			put(&t.spec.Labels, k, v)
		}
	}
	for k, v := range meta.Annotations {
		if slices.ContainsFunc(keptAnnotations, func(kept string) bool {
			return k == kept || strings.HasSuffix(kept, "/") && strings.HasPrefix(k, kept)
		}) {
			put(&t.spec.Annotations, k, v)
		}
	}
	s := &t.spec.Spec
	s.NodeSelector, s.PriorityClassName, s.Overhead, s.HostNetwork = spec.NodeSelector, spec.PriorityClassName, spec.Overhead, spec.HostNetwork
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
	for i := range spec.Volumes {
		if spec.Volumes[i].PersistentVolumeClaim != nil || spec.Volumes[i].Ephemeral != nil {
			t.claims++
		}
	}
	return l.one(t)
}

// one returns the template that is known already and says the same, or keeps this one.
func (l *ledger) one(t *template) *template {
	text, err := json.Marshal(t.spec)
	if err != nil { // nothing that was read from JSON fails to become JSON
		text = nil
	}
	t.key = string(text)
	if known := l.templates[t.key]; known != nil {
		known.claims = max(known.claims, t.claims)
		return known
	}
	l.templates[t.key] = t
	return t
}

func put(m *map[string]string, k, v string) {
	if *m == nil {
		*m = map[string]string{}
	}
	(*m)[k] = v
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

// asks are requests that are known without a template, as metrics have them: of the containers together and of the largest
// init container.
type asks struct {
	containers, init map[corev1.ResourceName]float64
	seen             map[string]bool // container and resource: one series may come in many files
}

func (a *asks) add(container, name string, value float64, init bool) {
	if a.seen == nil {
		a.seen, a.containers, a.init = map[string]bool{}, map[corev1.ResourceName]float64{}, map[corev1.ResourceName]float64{}
	}
	id := container + " " + name
	if init {
		id = "init " + id
	}
	if a.seen[id] {
		return
	}
	a.seen[id] = true
	r := resourceName(name)
	if init {
		a.init[r] = max(a.init[r], value)
	} else {
		a.containers[r] += value
	}
}

// resourceName is a resource as Kubernetes calls it, of the form that kube-state-metrics makes of it: nvidia_com_gpu.
func resourceName(label string) corev1.ResourceName {
	switch label {
	case "cpu", "memory":
		return corev1.ResourceName(label)
	case "ephemeral_storage":
		return corev1.ResourceEphemeralStorage
	}
	for _, domain := range []string{"nvidia_com_", "aws_amazon_com_", "amd_com_", "vpc_amazonaws_com_"} {
		if rest, ok := strings.CutPrefix(label, domain); ok {
			return corev1.ResourceName(strings.ReplaceAll(strings.TrimSuffix(domain, "_"), "_", ".") + "/" + strings.ReplaceAll(rest, "_", "-"))
		}
	}
	return corev1.ResourceName(label)
}

// template is a pod that asks for this; nil where nothing is known.
func (l *ledger) fromAsks(a *asks) *template {
	if a == nil || len(a.seen) == 0 {
		return nil
	}
	list := corev1.ResourceList{}
	for _, from := range []map[corev1.ResourceName]float64{a.containers, a.init} {
		for name, v := range from {
			v = max(v, a.containers[name])
			if v <= 0 {
				continue
			}
			if name == corev1.ResourceCPU {
				list[name] = *resource.NewMilliQuantity(int64(v*1000+0.5), resource.DecimalSI)
			} else if name == corev1.ResourceMemory || name == corev1.ResourceEphemeralStorage {
				list[name] = *resource.NewQuantity(int64(v), resource.BinarySI)
			} else {
				list[name] = *resource.NewQuantity(int64(v), resource.DecimalSI)
			}
		}
	}
	return l.plain(list)
}

// plain is a pod of one container that requests this and says nothing else.
func (l *ledger) plain(list corev1.ResourceList) *template {
	c := corev1.Container{Name: "main", Image: "none"}
	c.Resources.Requests = list
	for name, q := range list { // what can't be overcommitted has a limit too
		if strings.Contains(string(name), "/") {
			if c.Resources.Limits == nil {
				c.Resources.Limits = corev1.ResourceList{}
			}
			c.Resources.Limits[name] = q
		}
	}
	return l.one(&template{spec: &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{c}}}})
}
