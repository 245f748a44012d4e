package kubelet

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// tell writes the pod's status if it is not what was written last.
func (r *podRunner) tell(ctx context.Context) error {
	r.mu.Lock()
	pod, process, failed, told := r.pod, r.process, r.failed, r.told
	r.mu.Unlock()
	if finished(pod) {
		return nil
	}
	status := r.node.statusOf(pod, process, failed, told, time.Now())
	if told != nil && equality.Semantic.DeepEqual(*told, status) {
		return nil
	}
	// Conditions are merged by their type, so that those of others stay. The UID is a precondition.
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID}, "status": status})
	if err != nil {
		return err
	}
	_, err = r.node.Client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	r.mu.Lock()
	r.told = &status
	r.mu.Unlock()
	return nil
}

// leftOut is the reason that containers after the first have in the status.
const leftOut = "LeftOut"

// statusOf is the part of a pod's status that is the kubelet's. Times of conditions that have not changed are those of told.
func (n *Node) statusOf(pod *corev1.Pod, process *Process, failed error, told *corev1.PodStatus, now time.Time) corev1.PodStatus {
	first := containerStatus(&pod.Spec.Containers[0], process, failed, pod.DeletionTimestamp != nil)
	out := corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{first}, StartTime: new(metav1.NewTime(now))}
	if told != nil {
		out.StartTime = told.StartTime
	}
	if process != nil {
		out.Phase = corev1.PodRunning
	}
	for _, a := range n.Object.Status.Addresses {
		if a.Type == corev1.NodeInternalIP {
			out.HostIP, out.HostIPs = a.Address, []corev1.HostIP{{IP: a.Address}}
			if process != nil {
				out.PodIP, out.PodIPs = a.Address, []corev1.PodIP{{IP: a.Address}}
			}
		}
	}
	for i := range pod.Spec.Containers[1:] {
		c := &pod.Spec.Containers[i+1]
		out.ContainerStatuses = append(out.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, Started: new(false),
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: leftOut, Message: "the local cluster runs the first container of a pod"}},
		})
	}
	set := func(kind corev1.PodConditionType, ok bool, reason string) {
		c := corev1.PodCondition{Type: kind, Status: corev1.ConditionFalse, Reason: reason, LastTransitionTime: metav1.NewTime(now)}
		if ok {
			c.Status, c.Reason = corev1.ConditionTrue, ""
		}
		if told != nil {
			i := slices.IndexFunc(told.Conditions, func(was corev1.PodCondition) bool { return was.Type == kind && was.Status == c.Status })
			if i >= 0 {
				c.LastTransitionTime = told.Conditions[i].LastTransitionTime
			}
		}
		out.Conditions = append(out.Conditions, c)
	}
	set(corev1.PodInitialized, true, "")
	set(corev1.ContainersReady, first.Ready, "ContainersNotReady")
	set(corev1.PodReady, first.Ready, "ContainersNotReady")
	return out
}

// containerStatus is the status of a pod's first container.
func containerStatus(c *corev1.Container, process *Process, failed error, ending bool) corev1.ContainerStatus {
	out := corev1.ContainerStatus{Name: c.Name, Image: c.Image, ImageID: c.Image, Started: new(false)}
	if process == nil {
		out.ImageID = ""
		out.State.Waiting = &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}
		if failed != nil {
			out.State.Waiting = &corev1.ContainerStateWaiting{Reason: reasonOf(failed), Message: failed.Error()}
		}
		return out
	}
	s := process.Container.State()
	out.RestartCount = int32(s.Restarts) //nolint:gosec // back-off keeps it small
	var last *corev1.ContainerStateTerminated
	if s.Last != nil {
		last = &corev1.ContainerStateTerminated{
			ExitCode: int32(s.Last.Code), Reason: "Error", StartedAt: metav1.NewTime(s.Last.Begun), FinishedAt: metav1.NewTime(s.Last.Ended), //nolint:gosec // an exit code
		}
		if s.Last.Code == 0 {
			last.Reason = "Completed"
		}
	}
	switch {
	case s.Running:
		out.Started, out.Ready = &s.Started, s.Ready
		out.State.Running, out.LastTerminationState.Terminated = &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(s.Since)}, last
	case ending:
		out.State.Terminated = last
	default:
		out.State.Waiting = &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: fmt.Sprintf("it is started again at %s", s.Next.Format(time.RFC3339))}
		out.LastTerminationState.Terminated = last
	}
	return out
}
