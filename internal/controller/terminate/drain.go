package terminate

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/index"
)

const (
	// stuck is how long past its own deletion deadline a pod is still waited for.
	stuck = time.Minute
	// retryEviction is how soon an eviction that a disruption budget refused is tried again. The pods' events usually come
	// first.
	retryEviction = time.Second
	// reserve is the time before a machine's end at which a drain no longer waits for replacements.
	reserve = 75 * time.Second
	// ahead is how long a drain waits for replacements where the machine's end is not near, and aheadOfExpiry how long that
	// of an expired node waits for a machine that is on its way: as long as a machine may take to join.
	ahead, aheadOfExpiry = 3 * time.Minute, 15 * time.Minute
	// criticalPriority is where the priorities of system-cluster-critical and system-node-critical begin
	// (Kubernetes: PriorityClass).
	criticalPriority = 2_000_000_000
)

// drain evicts the pods of a node, group by group, and reports whether none is left to wait for.
func (n *Nodes) drain(ctx context.Context, node *corev1.Node, claim *karpv1.NodeClaim) (done bool, after time.Duration, err error) {
	var list corev1.PodList
	if err := n.Client.List(ctx, &list, client.MatchingFields{index.PodNode: node.Name}); err != nil {
		return false, 0, fmt.Errorf("listing pods of node %q: %w", node.Name, err)
	}
	deadline, hasDeadline := deadlineOf(claim)
	now := n.Clock.Now()
	waiting := drainSet(list.Items, now)
	if len(waiting) > 0 {
		if claim != nil {
			claim.StatusConditions().WithClock(n.Clock.Now).SetUnknownWithReason(karpv1.ConditionTypeDrained, karpv1.ReasonDraining, "")
		}
		if hasDeadline {
			for _, p := range waiting {
				if err := n.force(ctx, p, deadline, now); err != nil {
					return false, 0, err
				}
			}
		}
		if n.held(node, claim, deadline, now) {
			return false, retryEviction, nil
		}
		return false, retryEviction, n.evict(ctx, node, waiting)
	}
	if since := now.Sub(node.DeletionTimestamp.Time); since < settle {
		return false, settle - since, nil
	}
	if claim != nil && claim.StatusConditions().WithClock(n.Clock.Now).SetTrue(karpv1.ConditionTypeDrained) {
		n.Metrics.NodesDrained.WithLabelValues(node.Labels[karpv1.NodePoolLabelKey]).Inc()
	}
	return true, 0, nil
}

// deadlineOf is when the machine goes whatever is still on it.
func deadlineOf(claim *karpv1.NodeClaim) (time.Time, bool) {
	if claim == nil {
		return time.Time{}, false
	}
	t, err := time.Parse(time.RFC3339, claim.Annotations[karpv1.NodeClaimTerminationTimestampAnnotationKey])
	return t, err == nil
}

// drainSet are the pods that have to leave: live, not static, not content with the disrupted taint, and not stuck long
// past their own end.
func drainSet(pods []corev1.Pod, now time.Time) []*corev1.Pod {
	taint := karpv1.DisruptedNoScheduleTaint()
	var out []*corev1.Pod
	for i := range pods {
		p := &pods[i]
		switch {
		case p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed:
		case slices.ContainsFunc(p.OwnerReferences, func(o metav1.OwnerReference) bool { return o.APIVersion == "v1" && o.Kind == "Node" }):
		case slices.ContainsFunc(p.Spec.Tolerations, func(t corev1.Toleration) bool { return tolerates(t, taint) }):
		case !p.DeletionTimestamp.IsZero() && now.After(p.DeletionTimestamp.Add(stuck)):
		default:
			out = append(out, p)
		}
	}
	return out
}

// tolerates follows the Kubernetes rule for taints and tolerations.
func tolerates(t corev1.Toleration, taint corev1.Taint) bool {
	if t.Effect != "" && t.Effect != taint.Effect {
		return false
	}
	if t.Key != "" && t.Key != taint.Key {
		return false
	}
	return t.Operator == corev1.TolerationOpExists || (t.Key != "" && t.Value == taint.Value)
}

// groups orders the pods: ordinary before daemons, critical ones last, so that what serves the others stays longest.
func groups(pods []*corev1.Pod) [4][]*corev1.Pod {
	var out [4][]*corev1.Pod
	for _, p := range pods {
		g := 0
		if slices.ContainsFunc(p.OwnerReferences, func(o metav1.OwnerReference) bool { return o.Kind == "DaemonSet" }) {
			g = 1
		}
		if p.Spec.Priority != nil && *p.Spec.Priority >= criticalPriority {
			g += 2
		}
		out[g] = append(out[g], p)
	}
	return out
}

// evict asks for the eviction of the first group that has pods.
func (n *Nodes) evict(ctx context.Context, node *corev1.Node, pods []*corev1.Pod) error {
	now := n.Clock.Now()
	for _, group := range groups(pods) {
		if len(group) == 0 {
			continue
		}
		for _, p := range group {
			if !p.DeletionTimestamp.IsZero() || protected(p, now) {
				continue
			}
			if err := n.evictOne(ctx, node, p); err != nil {
				return err
			}
		}
		return nil
	}
	return nil
}

// protected reports whether the pod's own annotation holds its eviction off: forever ("true"), or for a time from its start.
func protected(p *corev1.Pod, now time.Time) bool {
	v, ok := p.Annotations[karpv1.DoNotDisruptAnnotationKey]
	if !ok {
		return false
	}
	if v == "true" {
		return true
	}
	d, err := time.ParseDuration(v)
	if err != nil || d <= 0 {
		return false
	}
	return p.Status.StartTime == nil || now.Before(p.Status.StartTime.Add(d))
}

func (n *Nodes) evictOne(ctx context.Context, node *corev1.Node, p *corev1.Pod) error {
	err := n.Client.SubResource("eviction").Create(ctx, p, &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name},
		DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &p.UID}},
	})
	code := 200
	if status, ok := err.(apierrors.APIStatus); ok {
		code = int(status.Status().Code)
	}
	n.Metrics.EvictionRequests.WithLabelValues(strconv.Itoa(code)).Inc()
	switch {
	case err == nil:
		n.Metrics.PodsDrained.WithLabelValues("evicted").Inc()
		n.Recorder.Eventf(p, corev1.EventTypeNormal, "Evicted", "evicted from node %s, which is going away", node.Name)
		return nil
	case apierrors.IsNotFound(err) || apierrors.IsConflict(err):
		return nil
	case apierrors.IsTooManyRequests(err):
		n.Recorder.Eventf(node, corev1.EventTypeWarning, "FailedDraining", "pod %s/%s can't be evicted yet: %v", p.Namespace, p.Name, err)
		return nil
	case apierrors.IsInternalError(err):
		// More than one disruption budget selects the pod; the API refuses such evictions for good.
		n.Recorder.Eventf(node, corev1.EventTypeWarning, "FailedDraining", "pod %s/%s can't be evicted: %v", p.Namespace, p.Name, err)
		return nil
	}
	return fmt.Errorf("evicting pod %s/%s from node %q: %w", p.Namespace, p.Name, node.Name, err)
}

// force deletes a pod so that its own grace period ends at the deadline, past any budget: the machine goes either way.
func (n *Nodes) force(ctx context.Context, p *corev1.Pod, deadline, now time.Time) error {
	grace := 30 * time.Second
	if p.Spec.TerminationGracePeriodSeconds != nil {
		grace = time.Duration(*p.Spec.TerminationGracePeriodSeconds) * time.Second
	}
	late := now.After(deadline.Add(-grace))
	if !p.DeletionTimestamp.IsZero() {
		// A pod that was already given its last second is not asked again.
		late = p.DeletionTimestamp.After(deadline) && (p.DeletionGracePeriodSeconds == nil || *p.DeletionGracePeriodSeconds > 1)
	}
	if !late {
		return nil
	}
	seconds := max(1, int64(deadline.Sub(now).Seconds()))
	err := n.Client.Delete(ctx, p.DeepCopy(), &client.DeleteOptions{GracePeriodSeconds: &seconds, Preconditions: &metav1.Preconditions{UID: &p.UID}})
	switch {
	case err == nil:
		n.Metrics.PodsDrained.WithLabelValues("deleted").Inc()
		n.Recorder.Eventf(p, corev1.EventTypeWarning, "Disrupted", "deleted because its node goes at %s", deadline.Format(time.RFC3339))
		return nil
	case apierrors.IsNotFound(err) || apierrors.IsConflict(err):
		return nil
	}
	return fmt.Errorf("deleting pod %s/%s: %w", p.Namespace, p.Name, err)
}
