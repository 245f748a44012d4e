package terminate

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/events"
	"github.com/kerf-sh/kerf/internal/controller/index"
)

// unseen is how soon attachments, and the instance of a node that is not ready, are looked at again although no event came.
const unseen = 30 * time.Second

// detach waits until no volume that could be detached is attached to the node any more: ending the instance under an
// attached volume makes the next node wait minutes for it. after is 0 when there is nothing to wait for, otherwise how soon
// to look again if no attachment goes before.
func (n *Nodes) detach(ctx context.Context, node *corev1.Node, claim *karpv1.NodeClaim) (after time.Duration, err error) {
	blocking, err := n.blockingAttachments(ctx, node)
	if err != nil {
		return 0, err
	}
	if claim == nil && blocking == 0 {
		return 0, nil
	}
	if claim == nil {
		return unseen, nil
	}
	conditions := claim.StatusConditions().WithClock(n.Clock.Now)
	if blocking == 0 {
		conditions.SetTrue(karpv1.ConditionTypeVolumesDetached)
		return 0, nil
	}
	by, now := endOf(claim), n.Clock.Now()
	if by.passed(now, 0) {
		conditions.SetFalse(karpv1.ConditionTypeVolumesDetached, karpv1.ReasonTerminationGracePeriodElapsed, fmt.Sprintf("%d volumes were still attached", blocking))
		return 0, nil
	}
	conditions.SetUnknownWithReason(karpv1.ConditionTypeVolumesDetached, karpv1.ReasonAwaitingVolumeDetachment, fmt.Sprintf("%d volumes are still attached", blocking))
	n.Recorder.Eventf(node, corev1.EventTypeNormal, events.AwaitingVolumeDetachment, "%d volumes are still attached", blocking)
	if left := by.Sub(now); !by.IsZero() && left < unseen {
		return left, nil
	}
	return unseen, nil
}

// blockingAttachments counts attachments of persistent volumes, less those of pods that stay on the node to its end.
func (n *Nodes) blockingAttachments(ctx context.Context, node *corev1.Node) (int, error) {
	var list storagev1.VolumeAttachmentList
	if err := n.Client.List(ctx, &list, client.MatchingFields{index.VolumeAttachmentNode: node.Name}); err != nil {
		return 0, fmt.Errorf("listing volume attachments of node %q: %w", node.Name, err)
	}
	if len(list.Items) == 0 {
		return 0, nil
	}
	staying, err := n.volumesOfStayingPods(ctx, node)
	if err != nil {
		return 0, err
	}
	count := 0
	for _, va := range list.Items {
		if name := va.Spec.Source.PersistentVolumeName; name != nil && !staying[*name] {
			count++
		}
	}
	return count, nil
}

func (n *Nodes) volumesOfStayingPods(ctx context.Context, node *corev1.Node) (map[string]bool, error) {
	var pods corev1.PodList
	if err := n.Client.List(ctx, &pods, client.MatchingFields{index.PodNode: node.Name}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing pods of node %q: %w", node.Name, err)
	}
	leaving := map[string]bool{}
	for _, p := range drainSet(pods.Items, end{}, n.Clock.Now()) {
		leaving[p.Namespace+"/"+p.Name] = true
	}
	out := map[string]bool{}
	for _, p := range pods.Items {
		if leaving[p.Namespace+"/"+p.Name] || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
			continue
		}
		for _, v := range p.Spec.Volumes {
			name := ""
			if v.PersistentVolumeClaim != nil {
				name = v.PersistentVolumeClaim.ClaimName
			} else if v.Ephemeral != nil {
				name = p.Name + "-" + v.Name
			}
			if name == "" {
				continue
			}
			pvc := &corev1.PersistentVolumeClaim{}
			err := n.Client.Get(ctx, client.ObjectKey{Namespace: p.Namespace, Name: name}, pvc)
			if client.IgnoreNotFound(err) != nil {
				return nil, fmt.Errorf("reading volume claim %s/%s: %w", p.Namespace, name, err)
			}
			if err == nil && pvc.Spec.VolumeName != "" {
				out[pvc.Spec.VolumeName] = true
			}
		}
	}
	return out, nil
}
