package intake

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
)

// Pod converts a pod; class is what Compiler.Class gave for it.
func Pod(pod *corev1.Pod, class *cluster.Class) *cluster.Pod {
	return &cluster.Pod{
		PodRef:      PodRef(pod),
		Class:       class,
		CreatedAt:   pod.CreationTimestamp.UTC(),
		Node:        pod.Spec.NodeName,
		Daemon:      IsDaemon(pod),
		Mirror:      IsMirror(pod),
		Terminating: pod.DeletionTimestamp != nil,
		Lingers:     lingers(pod),
	}
}

// lingering is the grace period above which a terminating pod lingers: a new node is ready in less. Shorter ones end before
// the scheduler has another node to try.
const lingering = 2 * time.Minute

func lingers(pod *corev1.Pod) bool {
	grace := pod.DeletionGracePeriodSeconds
	return pod.DeletionTimestamp != nil && grace != nil && *grace > int64(lingering/time.Second)
}

// PodRef names the pod.
func PodRef(pod *corev1.Pod) cluster.PodRef {
	return cluster.PodRef{Namespace: pod.Namespace, Name: pod.Name, UID: string(pod.UID)}
}

// Provisionable reports whether the scheduler has found no node for the pod and Kerf may make one. Gated pods, pods
// that wait for a preemption, pods of daemons and pods that ask for no NodePool at all are not Kerf's to serve.
func Provisionable(pod *corev1.Pod) bool { return ProvisionableBut(pod, "") }

// ProvisionableBut is Provisionable for a pod whose nomination to a node is no preemption.
func ProvisionableBut(pod *corev1.Pod, nominated string) bool {
	return (pod.Status.NominatedNodeName == "" || pod.Status.NominatedNodeName == nominated) && Refused(pod) && !IsDaemon(pod) && !IsMirror(pod) && !OptsOut(pod)
}

// Preempts reports whether the scheduler may end other pods for the pod, and takes a nomination of it away when it finds no
// place: not of those that never preempt, nor of those that are scheduled as a group.
func Preempts(pod *corev1.Pod) bool {
	return (pod.Spec.PreemptionPolicy == nil || *pod.Spec.PreemptionPolicy != corev1.PreemptNever) && pod.Spec.SchedulingGroup == nil
}

// Refused reports whether the pod waits and the scheduler has said that it finds no node.
func Refused(pod *corev1.Pod) bool {
	if pod.Spec.NodeName != "" || pod.DeletionTimestamp != nil || !IsActive(pod) {
		return false
	}
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		if c.Type == corev1.PodScheduled {
			return c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable
		}
	}
	return false
}

// Refusal is what the scheduler last said of a pod that it found no node for; empty when it has said nothing.
func Refusal(pod *corev1.Pod) string {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return c.Message
		}
	}
	return ""
}

// IsActive reports whether the pod is not over yet.
func IsActive(pod *corev1.Pod) bool {
	return pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}

// IsDaemon reports whether a DaemonSet owns the pod.
func IsDaemon(pod *corev1.Pod) bool { return ownedBy(pod, "apps/v1", "DaemonSet") }

// IsMirror reports whether the pod stands for a static pod of the kubelet.
func IsMirror(pod *corev1.Pod) bool {
	if _, ok := pod.Annotations[corev1.MirrorPodAnnotationKey]; ok {
		return true
	}
	return ownedBy(pod, "v1", "Node")
}

// Reschedulable reports whether the pod would need another place if its node went: it runs, or it is a terminating pod
// of a StatefulSet, whose successor will look the same.
func Reschedulable(pod *corev1.Pod) bool {
	if IsDaemon(pod) || IsMirror(pod) || !IsActive(pod) {
		return false
	}
	return pod.DeletionTimestamp == nil || ownedBy(pod, "apps/v1", "StatefulSet")
}

// DaemonSetName is the name of the DaemonSet that owns the pod, empty when none does.
func DaemonSetName(pod *corev1.Pod) string {
	for i := range pod.OwnerReferences {
		if o := &pod.OwnerReferences[i]; o.Kind == "DaemonSet" && o.APIVersion == "apps/v1" {
			return o.Name
		}
	}
	return ""
}

// OptsOut reports whether every alternative of the pod's required node affinity demands that there be no label which all nodes of
// Kerf get, such as that of the NodePool: such a pod (the controller's own, as a rule) wants nodes that Kerf does not make.
func OptsOut(pod *corev1.Pod) bool {
	a := pod.Spec.Affinity
	if a == nil || a.NodeAffinity == nil || a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return false
	}
	terms := a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	for i := range terms {
		if !demandsOthers(&terms[i]) {
			return false
		}
	}
	return len(terms) > 0
}

// onAll are labels that all nodes of Kerf get.
var onAll = []string{karpv1.NodePoolLabelKey, karpv1.NodeRegisteredLabelKey, karpv1.NodeInitializedLabelKey}

func demandsOthers(t *corev1.NodeSelectorTerm) bool {
	for i := range t.MatchExpressions {
		if e := &t.MatchExpressions[i]; e.Operator == corev1.NodeSelectorOpDoesNotExist && slices.Contains(onAll, e.Key) {
			return true
		}
	}
	return false
}

func ownedBy(object metav1.Object, apiVersion, kind string) bool {
	refs := object.GetOwnerReferences()
	for i := range refs {
		if refs[i].Kind == kind && refs[i].APIVersion == apiVersion {
			return true
		}
	}
	return false
}
