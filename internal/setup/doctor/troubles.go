package doctor

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// troubles says of each pod of a controller that is not ready what it waits for.
func (r *kubeReader) troubles(ctx context.Context, c Controller) (out, ending []string) {
	if len(c.Labels) == 0 {
		return nil, nil
	}
	var pods corev1.PodList
	if err := r.c.List(ctx, &pods, client.InNamespace(c.Namespace), client.MatchingLabels(c.Labels)); err != nil {
		r.gap("pods of %s: %v", c, err)
		return nil, nil
	}
	for i := range pods.Items {
		p := &pods.Items[i]
		text := trouble(p)
		if text == "" {
			continue
		}
		out = append(out, "pod "+p.Name+" "+text)
		if ended(p) {
			ending = append(ending, p.Name)
		}
	}
	slices.Sort(out)
	slices.Sort(ending)
	return out, ending
}

// ended reports whether a container of the pod has ended by itself and does not run again.
func ended(p *corev1.Pod) bool {
	return slices.ContainsFunc(slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses), func(s corev1.ContainerStatus) bool {
		last := s.State.Terminated
		if last == nil && s.State.Waiting != nil {
			last = s.LastTerminationState.Terminated
		}
		return last != nil && last.ExitCode != 0
	})
}

// trouble says why a pod is not ready; empty if it is.
func trouble(p *corev1.Pod) string {
	for _, c := range p.Status.Conditions {
		switch {
		case c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue:
			return ""
		case c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse:
			return "has no node: " + c.Message
		}
	}
	for _, s := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		text := ""
		if w := s.State.Waiting; w != nil && w.Reason != "" {
			text = "waits: " + w.Reason
		}
		ended := s.State.Terminated
		if ended == nil {
			ended = s.LastTerminationState.Terminated
		}
		if ended != nil && (text != "" || s.State.Terminated != nil && ended.ExitCode != 0) {
			if text != "" {
				text += "; it "
			}
			text += fmt.Sprintf("ended with code %d (%s)", ended.ExitCode, ended.Reason)
		}
		if text != "" {
			return text
		}
	}
	return fmt.Sprintf("is %s and not ready", p.Status.Phase)
}
