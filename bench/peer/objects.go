package peer

import (
	"fmt"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// podOf writes a pod as the API object that intake would have read it from.
//
// Errors name what of the class no object is written for.
func podOf(p *cluster.Pod) (*corev1.Pod, error) {
	c := p.Class
	if len(c.Volumes) > 0 || c.Unplaceable != "" || p.Daemon || p.Mirror || p.Terminating {
		return nil, fmt.Errorf("pod %s: volumes, daemons and pods that end are not carried over to the peer", p.PodRef)
	}
	out := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name, UID: types.UID(p.UID), Labels: c.Labels,
			CreationTimestamp: metav1.NewTime(p.CreatedAt),
			OwnerReferences:   []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "owner", UID: "owner", Controller: new(true)}}},
		Spec: corev1.PodSpec{NodeName: p.Node, Priority: new(c.Priority),
			Containers: []corev1.Container{{Name: "main", Image: "image", Resources: corev1.ResourceRequirements{Requests: requestsOf(c.Requests)}}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
	if p.Node == "" {
		out.Status.Phase = corev1.PodPending
		out.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}
	}
	for _, port := range c.HostPorts {
		out.Spec.Containers[0].Ports = append(out.Spec.Containers[0].Ports, corev1.ContainerPort{HostIP: port.IP, HostPort: port.Port,
			ContainerPort: port.Port, Protocol: corev1.Protocol(port.Protocol)})
	}
	for _, t := range c.Tolerations {
		op := corev1.TolerationOpEqual
		if t.Exists {
			op = corev1.TolerationOpExists
		}
		out.Spec.Tolerations = append(out.Spec.Tolerations, corev1.Toleration{Key: t.Key, Operator: op, Value: t.Value, Effect: corev1.TaintEffect(t.Effect)})
	}
	for _, s := range c.Spreads {
		out.Spec.TopologySpreadConstraints = append(out.Spec.TopologySpreadConstraints, spreadOf(s))
	}
	return out, affinity(out, c)
}

func spreadOf(s cluster.Spread) corev1.TopologySpreadConstraint {
	out := corev1.TopologySpreadConstraint{TopologyKey: s.Key, MaxSkew: int32(s.MaxSkew), LabelSelector: selectorOf(s.Selector),
		WhenUnsatisfiable: corev1.DoNotSchedule}
	if s.Soft {
		out.WhenUnsatisfiable = corev1.ScheduleAnyway
	}
	if s.MinDomains > 0 {
		out.MinDomains = new(int32(s.MinDomains))
	}
	if s.HonorTaints {
		out.NodeTaintsPolicy = new(corev1.NodeInclusionPolicyHonor)
	}
	if s.IgnoreAffinity {
		out.NodeAffinityPolicy = new(corev1.NodeInclusionPolicyIgnore)
	}
	return out
}

// affinity writes what the class demands and prefers of nodes and of other pods.
func affinity(pod *corev1.Pod, c *cluster.Class) error {
	for _, t := range c.Selector {
		if t.Operator != requirement.In || len(t.Values) != 1 {
			return fmt.Errorf("pod %s/%s: selector on %s is not one value", pod.Namespace, pod.Name, t.Key)
		}
		if pod.Spec.NodeSelector == nil {
			pod.Spec.NodeSelector = map[string]string{}
		}
		pod.Spec.NodeSelector[t.Key] = t.Values[0]
	}
	a := &corev1.Affinity{}
	if len(c.Affinity)+len(c.Preferred) > 0 {
		a.NodeAffinity = &corev1.NodeAffinity{}
	}
	for _, terms := range c.Affinity {
		if a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
			a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{}
		}
		required := a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
		required.NodeSelectorTerms = append(required.NodeSelectorTerms, nodeTerm(terms))
	}
	for _, w := range c.Preferred {
		a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution = append(a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution,
			corev1.PreferredSchedulingTerm{Weight: int32(w.Weight), Preference: nodeTerm(w.Terms)})
	}
	if hard, soft := podTerms(c.PodAffinity); len(hard)+len(soft) > 0 {
		a.PodAffinity = &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: hard, PreferredDuringSchedulingIgnoredDuringExecution: soft}
	}
	if hard, soft := podTerms(c.AntiAffinity); len(hard)+len(soft) > 0 {
		a.PodAntiAffinity = &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: hard, PreferredDuringSchedulingIgnoredDuringExecution: soft}
	}
	if a.NodeAffinity != nil || a.PodAffinity != nil || a.PodAntiAffinity != nil {
		pod.Spec.Affinity = a
	}
	return nil
}

func nodeTerm(terms []requirement.Term) corev1.NodeSelectorTerm {
	var out corev1.NodeSelectorTerm
	for _, t := range terms {
		out.MatchExpressions = append(out.MatchExpressions, corev1.NodeSelectorRequirement{Key: t.Key, Operator: corev1.NodeSelectorOperator(t.Operator), Values: t.Values})
	}
	return out
}

func podTerms(in []cluster.PodAffinity) (hard []corev1.PodAffinityTerm, soft []corev1.WeightedPodAffinityTerm) {
	for _, t := range in {
		term := corev1.PodAffinityTerm{TopologyKey: t.Key, LabelSelector: selectorOf(t.Selector), Namespaces: t.Namespaces}
		if t.Weight == 0 {
			hard = append(hard, term)
			continue
		}
		soft = append(soft, corev1.WeightedPodAffinityTerm{Weight: int32(t.Weight), PodAffinityTerm: term})
	}
	return hard, soft
}

func selectorOf(s *cluster.Selector) *metav1.LabelSelector {
	if s == nil {
		return nil
	}
	out := &metav1.LabelSelector{}
	for _, t := range s.Terms {
		if t.Operator == requirement.In && len(t.Values) == 1 {
			metav1.AddLabelToSelector(out, t.Key, t.Values[0])
			continue
		}
		out.MatchExpressions = append(out.MatchExpressions, metav1.LabelSelectorRequirement{Key: t.Key, Operator: metav1.LabelSelectorOperator(t.Operator), Values: t.Values})
	}
	return out
}

// requestsOf leaves out the pod itself, which API objects do not ask for.
func requestsOf(l res.List) corev1.ResourceList {
	out := resourcesOf(l)
	delete(out, corev1.ResourcePods)
	return out
}

func resourcesOf(l res.List) corev1.ResourceList {
	out := corev1.ResourceList{}
	for name, x := range l {
		switch {
		case name == res.CPU:
			out[corev1.ResourceName(name)] = *resource.NewMilliQuantity(x, resource.DecimalSI)
		case res.IsBytes(name):
			out[corev1.ResourceName(name)] = *resource.NewQuantity(x, resource.BinarySI)
		default:
			out[corev1.ResourceName(name)] = *resource.NewQuantity(x, resource.DecimalSI)
		}
	}
	return out
}

func taintsOf(in []cluster.Taint) []corev1.Taint {
	var out []corev1.Taint
	for _, t := range in {
		out = append(out, corev1.Taint{Key: t.Key, Value: t.Value, Effect: corev1.TaintEffect(t.Effect)})
	}
	return out
}
