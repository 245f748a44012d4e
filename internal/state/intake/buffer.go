package intake

import (
	"fmt"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	autoscalingv1beta1 "github.com/kerf-sh/kerf/api/autoscaling/v1beta1"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
)

// maxBufferPods bounds how many pods one CapacityBuffer may stand for; a slip of a key must not fill the memory.
const maxBufferPods = 10_000

// Workload is what a Deployment, a StatefulSet or a ReplicaSet says of its pods.
type Workload struct {
	Template *corev1.PodTemplateSpec
	Replicas int32
}

// Shapes finds what gives a CapacityBuffer's pods their shape.
type Shapes interface {
	// PodTemplate is nil when there is none of that name.
	PodTemplate(namespace, name string) *corev1.PodTemplate
	// Workload is nil when there is none of that kind and name; kind is one of WorkloadKinds.
	Workload(kind, namespace, name string) *Workload
}

// WorkloadKinds are the kinds, all of the group apps, that a CapacityBuffer may follow.
var WorkloadKinds = []string{"Deployment", "ReplicaSet", "StatefulSet"}

// Buffer is what a CapacityBuffer comes to.
type Buffer struct {
	// Template of its pods; nil when it can't be resolved.
	Template *corev1.PodTemplateSpec
	// PodTemplate is the object that the template is from; nil when a workload has it.
	PodTemplate *corev1.PodTemplate
	Replicas    int32
	// Reason is that of the condition ReadyForProvisioning, Message what to do when it is not Resolved.
	Reason, Message string
}

// ServesBuffer reports whether a CapacityBuffer asks for room on running nodes; other strategies are for others.
func ServesBuffer(b *autoscalingv1beta1.CapacityBuffer) bool {
	s := b.Spec.ProvisioningStrategy
	return s == nil || *s == "" || *s == autoscalingv1beta1.ProvisioningStrategyActiveCapacity
}

// ResolveBuffer finds the shape and the number of a CapacityBuffer's pods: the larger of replicas and the percentage of
// the workload's, which is at least one, and no more than fit the limits.
func ResolveBuffer(b *autoscalingv1beta1.CapacityBuffer, shapes Shapes) Buffer {
	out, scale := bufferTemplate(b, shapes)
	if out.Template == nil {
		return out
	}
	spec := &b.Spec
	var want int64
	if spec.Replicas != nil {
		want = int64(*spec.Replicas)
	}
	if spec.Percentage != nil && scale != nil {
		share := (int64(*scale)*int64(*spec.Percentage) + 99) / 100
		want = max(want, share, 1)
	}
	if len(spec.Limits) > 0 {
		most, ok := withinLimits(VirtualPod(b, out.Template, 0), spec.Limits)
		switch {
		case spec.Replicas != nil || spec.Percentage != nil && scale != nil:
			want = min(want, most)
		case !ok:
			return Buffer{Reason: autoscalingv1beta1.ReasonResolutionFailed, Message: "limits name no resource that the pods ask for; set replicas, or limit a resource that they do"}
		default:
			want = most
		}
	}
	out.Reason = autoscalingv1beta1.ReasonResolved
	if want > maxBufferPods {
		want, out.Message = maxBufferPods, fmt.Sprintf("room is kept for %d pods of %d, the most for one buffer; use several for more", maxBufferPods, want)
	}
	out.Replicas = int32(want)
	return out
}

// bufferTemplate finds the template, and the number of replicas of the workload that has it; nil without a workload.
func bufferTemplate(b *autoscalingv1beta1.CapacityBuffer, shapes Shapes) (Buffer, *int32) {
	failed := func(reason, format string, args ...any) (Buffer, *int32) {
		return Buffer{Reason: reason, Message: fmt.Sprintf(format, args...)}, nil
	}
	switch ref, scalable := b.Spec.PodTemplateRef, b.Spec.ScalableRef; {
	case ref != nil:
		t := shapes.PodTemplate(b.Namespace, ref.Name)
		if t == nil {
			return failed(autoscalingv1beta1.ReasonPodTemplateNotFound, "podtemplate %q (spec.podTemplateRef) does not exist in namespace %q; create it or name another", ref.Name, b.Namespace)
		}
		return Buffer{Template: &t.Template, PodTemplate: t}, nil
	case scalable == nil:
		return failed(autoscalingv1beta1.ReasonResolutionFailed, "neither podTemplateRef nor scalableRef is set; set one of them")
	case scalable.APIGroup != "" && scalable.APIGroup != "apps" || !slices.Contains(WorkloadKinds, scalable.Kind):
		return failed(autoscalingv1beta1.ReasonResolutionFailed, "scalableRef is a %s of group %q, and only Deployment, ReplicaSet and StatefulSet of group apps can be followed; use podTemplateRef", scalable.Kind, scalable.APIGroup)
	default:
		w := shapes.Workload(scalable.Kind, b.Namespace, scalable.Name)
		if w == nil {
			return failed(autoscalingv1beta1.ReasonScalableRefNotFound, "%s %q (spec.scalableRef) does not exist in namespace %q; create it or name another", scalable.Kind, scalable.Name, b.Namespace)
		}
		return Buffer{Template: w.Template}, &w.Replicas
	}
}

// withinLimits is how many of the pod fit the limits; ok is false when these name nothing that the pod asks for.
func withinLimits(pod *corev1.Pod, limits corev1.ResourceList) (most int64, ok bool) {
	requests := PodRequests(pod)
	for name, limit := range Resources(limits) {
		ask := requests[name]
		if ask <= 0 {
			continue
		}
		if fit := max(0, limit/ask); !ok || fit < most {
			most, ok = fit, true
		}
	}
	return most, ok
}

// VirtualPod is the i-th pod that a CapacityBuffer stands for, as the template makes it, without volumes that need a
// claim: nobody makes those claims. Its priority is the lowest that there is.
func VirtualPod(b *autoscalingv1beta1.CapacityBuffer, template *corev1.PodTemplateSpec, i int) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: b.Namespace, Name: fmt.Sprintf("capacity-buffer-%s-%d", b.Name, i), UID: types.UID(fmt.Sprintf("%s-%d", b.UID, i)),
			Labels: template.Labels, CreationTimestamp: b.CreationTimestamp,
		},
		Spec: template.Spec,
	}
	pod.Spec.Priority = new(int32(math.MinInt32))
	pod.Spec.NodeName = ""
	completeRequests(&pod.Spec)
	pod.Spec.Volumes = slices.DeleteFunc(slices.Clone(pod.Spec.Volumes), func(v corev1.Volume) bool {
		return v.PersistentVolumeClaim != nil || v.Ephemeral != nil
	})
	return pod
}

// VirtualPods are the pods that a resolved CapacityBuffer stands for. They are of one class, which shares nothing with
// the classes of pods that exist.
func VirtualPods(b *autoscalingv1beta1.CapacityBuffer, resolved *Buffer, compiler *Compiler, look Lookup) []*cluster.Pod {
	if resolved.Replicas <= 0 {
		return nil
	}
	first := VirtualPod(b, resolved.Template, 0)
	class := compiler.virtual(first, look)
	out := make([]*cluster.Pod, resolved.Replicas)
	for i := range out {
		pod := Pod(first, class)
		pod.Name, pod.UID = fmt.Sprintf("capacity-buffer-%s-%d", b.Name, i), fmt.Sprintf("%s-%d", b.UID, i)
		out[i] = pod
	}
	return out
}

// virtual is Class for a pod that is to be counted and never bound.
func (c *Compiler) virtual(pod *corev1.Pod, look Lookup) *cluster.Class {
	class := *c.Class(pod, look)
	class.Virtual, class.ID = true, ""
	class.ID = classID(&class)
	return &class
}
