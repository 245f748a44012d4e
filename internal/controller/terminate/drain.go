package terminate

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/deadline"
	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

const (
	// stuck is how long past its own end a pod is still waited for, and past the instance's deadline any pod.
	stuck = time.Minute
	// overdue is the same once the instance's deadline has passed, for a pod that was told to end: its kubelet does not answer.
	overdue = 10 * time.Second
	// lookAgain is how soon a drain is looked at that waits for replacements: no event tells of those.
	lookAgain = time.Second
	// reserve is the time before an instance's end at which a drain no longer waits for replacements.
	reserve = 75 * time.Second
	// ahead is how long a drain waits for replacements where the instance's end is not near, and aheadOfExpiry how long that
	// of an expired node waits for an instance that is on its way: as long as an instance may take to join.
	ahead, aheadOfExpiry = 3 * time.Minute, 15 * time.Minute
	// criticalPriority is where the priorities of system-cluster-critical and system-node-critical begin
	// (Kubernetes: PriorityClass).
	criticalPriority = 2_000_000_000
)

// end is when an instance goes whatever is still on it; the zero value means that it has no such end.
type end struct{ time.Time }

func endOf(claim *karpv1.NodeClaim) end {
	if claim == nil {
		return end{}
	}
	by, _ := deadline.Of(claim)
	return end{by}
}

// passed reports whether the end was d or more ago.
func (e end) passed(now time.Time, d time.Duration) bool { return !e.IsZero() && !now.Before(e.Add(d)) }

// drain has the pods of a node leave, group by group, and reports whether none is left to wait for. Events of pods, of
// budgets and of the claim bring the drain on; after is when something is due without an event.
func (n *Nodes) drain(ctx context.Context, node *corev1.Node, claim *karpv1.NodeClaim) (done bool, after time.Duration, err error) {
	var list corev1.PodList
	if err := n.Client.List(ctx, &list, client.MatchingFields{index.PodNode: node.Name}, client.UnsafeDisableDeepCopy); err != nil {
		return false, 0, fmt.Errorf("listing pods of node %q: %w", node.Name, err)
	}
	by, now := endOf(claim), n.Clock.Now()
	waiting := drainSet(list.Items, by, now)
	since := now.Sub(tainted(node))
	if len(waiting) == 0 && (since >= settle || by.passed(now, 0)) {
		if claim != nil && claim.StatusConditions().WithClock(n.Clock.Now).SetTrue(karpv1.ConditionTypeDrained) {
			n.Metrics.NodesDrained.WithLabelValues(node.Labels[karpv1.NodePoolLabelKey]).Inc()
		}
		return true, 0, nil
	}
	if claim != nil {
		claim.StatusConditions().WithClock(n.Clock.Now).SetUnknownWithReason(karpv1.ConditionTypeDrained, karpv1.ReasonDraining, "")
	}
	if len(waiting) == 0 {
		return false, settle - since, nil
	}
	r := &round{Nodes: n, node: node, claim: claim, by: by, now: now, memory: n.recall(node)}
	r.run(ctx, waiting, n.held(node, claim, by.Time, now))
	return false, r.after(), nil
}

// tainted is since when the scheduler could know that the node takes no more pods.
func tainted(node *corev1.Node) time.Time {
	for _, t := range node.Spec.Taints {
		if t.Key == karpv1.DisruptedTaintKey && t.TimeAdded != nil {
			return t.TimeAdded.Time
		}
	}
	return node.DeletionTimestamp.Time // it bore the taint before
}

// drainSet are the pods that have to leave: live, not static, not content with the disrupted taint, and not stuck long
// past their own end or that of the instance.
func drainSet(pods []corev1.Pod, by end, now time.Time) []*corev1.Pod {
	taint := karpv1.DisruptedNoScheduleTaint()
	var out []*corev1.Pod
	for i := range pods {
		p := &pods[i]
		if !intake.IsActive(p) || intake.IsMirror(p) || slices.ContainsFunc(p.Spec.Tolerations, func(t corev1.Toleration) bool { return tolerates(t, taint) }) {
			continue
		}
		if now.Before(lets(p, by, now)) {
			out = append(out, p)
		}
	}
	return out
}

// lets is when a pod is no longer waited for, as things stand; a time in the far future when it is for as long as it takes.
func lets(p *corev1.Pod, by end, now time.Time) time.Time {
	until := now.Add(100 * 365 * 24 * time.Hour)
	if !by.IsZero() {
		until = by.Add(stuck)
	}
	if p.DeletionTimestamp.IsZero() {
		return until
	}
	patience := stuck
	if by.passed(now, 0) {
		patience = overdue
	}
	if own := p.DeletionTimestamp.Add(patience); own.Before(until) {
		return own
	}
	return until
}

// tolerates follows the Kubernetes rule for taints and tolerations.
func tolerates(t corev1.Toleration, taint corev1.Taint) bool {
	switch {
	case t.Effect != "" && t.Effect != taint.Effect, t.Key != "" && t.Key != taint.Key:
		return false
	case t.Operator == corev1.TolerationOpExists:
		return true
	}
	return (t.Operator == "" || t.Operator == corev1.TolerationOpEqual) && t.Key != "" && t.Value == taint.Value
}

// groups orders the pods: ordinary before daemons, critical ones last, so that what serves the others stays longest.
func groups(pods []*corev1.Pod) [4][]*corev1.Pod {
	var out [4][]*corev1.Pod
	for _, p := range pods {
		g := 0
		if intake.IsDaemon(p) {
			g = 1
		}
		if critical(p) {
			g += 2
		}
		out[g] = append(out[g], p)
	}
	return out
}

// critical goes by the priority, so that the classes of users' own that are as high count as well.
func critical(p *corev1.Pod) bool {
	if p.Spec.Priority == nil {
		return p.Spec.PriorityClassName == "system-cluster-critical" || p.Spec.PriorityClassName == "system-node-critical"
	}
	return *p.Spec.Priority >= criticalPriority
}

// first is the first group that has pods.
func first(pods []*corev1.Pod) []*corev1.Pod {
	for _, g := range groups(pods) {
		if len(g) > 0 {
			return g
		}
	}
	return nil
}
