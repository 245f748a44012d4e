package intake

import (
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	resourcehelper "k8s.io/component-helpers/resource"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
)

// Daemon is the pod that a DaemonSet will put on a new node. The newest of its pods, when there is one, shows what
// admission makes of the template; its node affinity is the template's, since the DaemonSet controller ties each pod to
// its node. ok is false for a DaemonSet that puts nothing on any node Kerf makes.
func Daemon(ds *appsv1.DaemonSet, newest *corev1.Pod, compiler *Compiler, look Lookup) (daemon cluster.Daemon, ok bool) {
	if ds.DeletionTimestamp != nil {
		return cluster.Daemon{}, false
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: ds.Namespace, Labels: ds.Spec.Template.Labels},
		Spec:       ds.Spec.Template.Spec,
	}
	if newest != nil {
		pod.Spec = newest.Spec
	} else {
		completeRequests(&pod.Spec)
		pod.Spec.Tolerations = append(daemonTolerations(pod.Spec.HostNetwork), pod.Spec.Tolerations...)
	}
	pod.Spec.Affinity = templateAffinity(pod.Spec.Affinity, ds.Spec.Template.Spec.Affinity)
	pod.Spec.NodeSelector = onceRegistered(ds.Spec.Template.Spec.NodeSelector)
	pod.Spec.NodeName = ""
	pod.Spec.Volumes = nil        // a daemon's volumes don't choose its node
	pod.Spec.ResourceClaims = nil // which nodes have its devices is not known before they are there
	return cluster.Daemon{Name: ds.Namespace + "/" + ds.Name, Class: compiler.Class(pod, look)}, true
}

// templateAffinity is live with the template's required node affinity.
func templateAffinity(live, template *corev1.Affinity) *corev1.Affinity {
	if template == nil || template.NodeAffinity == nil {
		if live == nil || live.NodeAffinity == nil {
			return live
		}
		out := *live
		out.NodeAffinity = nil
		return &out
	}
	out := corev1.Affinity{}
	if live != nil {
		out = *live
	}
	out.NodeAffinity = affinityOnceRegistered(template.NodeAffinity)
	return &out
}

// affinityOnceRegistered is onceRegistered for node affinity.
func affinityOnceRegistered(in *corev1.NodeAffinity) *corev1.NodeAffinity {
	required := in.RequiredDuringSchedulingIgnoredDuringExecution
	if required == nil {
		return in
	}
	out := *in
	terms := make([]corev1.NodeSelectorTerm, len(required.NodeSelectorTerms))
	for i, t := range required.NodeSelectorTerms {
		had := len(t.MatchExpressions)
		t.MatchExpressions = slices.DeleteFunc(slices.Clone(t.MatchExpressions), func(e corev1.NodeSelectorRequirement) bool {
			comes := e.Key == karpv1.NodeRegisteredLabelKey || e.Key == karpv1.NodeInitializedLabelKey
			return comes && (e.Operator == corev1.NodeSelectorOpExists || e.Operator == corev1.NodeSelectorOpIn && slices.Contains(e.Values, "true"))
		})
		if had > 0 && len(t.MatchExpressions)+len(t.MatchFields) == 0 {
			out.RequiredDuringSchedulingIgnoredDuringExecution = nil // any node will do, but a term that says nothing is for none
			return &out
		}
		terms[i] = t
	}
	out.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{NodeSelectorTerms: terms}
	return &out
}

// onceRegistered leaves out the labels that every node of Kerf's gets when it has joined: the daemon will come then.
func onceRegistered(selector map[string]string) map[string]string {
	out := maps.Clone(selector)
	for _, k := range []string{karpv1.NodeRegisteredLabelKey, karpv1.NodeInitializedLabelKey} {
		if out[k] == "true" {
			delete(out, k)
		}
	}
	return out
}

// completeRequests gives the pod of a template the requests that the API server gives a pod. What it changes is its own: the rest of the
// spec may be shared with the template.
//
// Source: the defaults of core/v1 pods, kube-apiserver v1.36. A RuntimeClass's overhead is not added: it is not read.
func completeRequests(spec *corev1.PodSpec) {
	spec.Containers = limitsAsRequests(spec.Containers)
	spec.InitContainers = limitsAsRequests(spec.InitContainers)
	if spec.Resources == nil || len(spec.Resources.Limits) == 0 {
		return
	}
	whole := spec.Resources.DeepCopy()
	if whole.Requests == nil {
		whole.Requests = corev1.ResourceList{}
	}
	add := func(name corev1.ResourceName, q resource.Quantity) {
		if _, ok := whole.Requests[name]; !ok {
			whole.Requests[name] = q
		}
	}
	for name, q := range resourcehelper.AggregateContainerRequests(&corev1.Pod{Spec: *spec}, resourcehelper.PodResourcesOptions{}) {
		if name == corev1.ResourceCPU || name == corev1.ResourceMemory {
			add(name, q)
		}
	}
	for name, q := range whole.Limits {
		if resourcehelper.IsSupportedPodLevelResource(name) {
			add(name, q)
		}
	}
	spec.Resources = whole
}

// limitsAsRequests does what admission does: a limit without a request is the request.
func limitsAsRequests(in []corev1.Container) []corev1.Container {
	out := make([]corev1.Container, len(in))
	for i := range in {
		out[i] = in[i]
		requests := maps.Clone(in[i].Resources.Requests)
		for name, q := range in[i].Resources.Limits {
			if _, ok := requests[name]; !ok {
				if requests == nil {
					requests = corev1.ResourceList{}
				}
				requests[name] = q
			}
		}
		out[i].Resources.Requests = requests
	}
	return out
}

// daemonTolerations are what the DaemonSet controller adds to every pod.
//
// Source: Kubernetes documentation, DaemonSet, "Taints and tolerations".
func daemonTolerations(hostNetwork bool) []corev1.Toleration {
	exists := func(key string, effect corev1.TaintEffect) corev1.Toleration {
		return corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: effect}
	}
	out := []corev1.Toleration{
		exists(corev1.TaintNodeNotReady, corev1.TaintEffectNoExecute),
		exists(corev1.TaintNodeUnreachable, corev1.TaintEffectNoExecute),
		exists(corev1.TaintNodeDiskPressure, corev1.TaintEffectNoSchedule),
		exists(corev1.TaintNodeMemoryPressure, corev1.TaintEffectNoSchedule),
		exists(corev1.TaintNodePIDPressure, corev1.TaintEffectNoSchedule),
		exists(corev1.TaintNodeUnschedulable, corev1.TaintEffectNoSchedule),
	}
	if hostNetwork {
		out = append(out, exists(corev1.TaintNodeNetworkUnavailable, corev1.TaintEffectNoSchedule))
	}
	return out
}
