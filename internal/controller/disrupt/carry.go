package disrupt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/deadline"
	"github.com/kerf-sh/kerf/internal/controller/events"
	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/controller/story"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// step brings a command as far as it can go now. It says after how long to look again, or that the command is over.
func (q *Queue) step(ctx context.Context, f *execution) (after time.Duration, done bool, err error) {
	if f.failed != "" {
		err := q.undo(ctx, f)
		return look, err == nil, err
	}
	ready, lost, err := q.replaced(ctx, f)
	switch {
	case err != nil:
		return 0, false, err
	case lost != "":
		f.giveUp(lost)
		return 0, false, nil
	case !ready:
		return look, false, nil
	}
	q.replacementsReady(ctx, f)
	if left := Settle - q.Clock.Since(f.order.Begun); left > 0 {
		return left, false, nil
	}
	if f.takenOver {
		f.takenOver = false
		q.reserve(f)
	}
	for _, g := range slices.Clone(f.Nodes) {
		why, err := q.lookAgain(ctx, f, g)
		switch {
		case err != nil:
			return 0, false, err
		case why == "":
		case f.apart():
			if err := q.release(ctx, f, g, why); err != nil {
				return 0, false, err
			}
		default:
			f.failed = fmt.Sprintf("node %s: %s", g.Node, why)
			return 0, false, nil
		}
	}
	if why := q.placesLost(f); f.untouched() && why != "" {
		f.giveUp(why)
		return 0, false, nil
	}
	errs := each(q, f.Nodes, func(g Going) error { return q.remove(ctx, f, g) })
	var left []Going
	for i, err := range errs {
		if err != nil {
			left = append(left, f.Nodes[i])
		}
	}
	q.mu.Lock()
	f.Nodes = left
	q.mu.Unlock()
	return look, len(left) == 0, errors.Join(errs...)
}

// replaced reports whether all replacements are ready, or how one was lost that will never be.
func (q *Queue) replaced(ctx context.Context, f *execution) (ready bool, lost string, err error) {
	ready = true
	for _, name := range f.claims {
		claim, err := q.claim(ctx, name)
		switch {
		case err != nil:
			return false, "", err
		case claim == nil:
			return false, fmt.Sprintf("its replacement %s is gone", name), nil
		case !claim.DeletionTimestamp.IsZero():
			return false, fmt.Sprintf("its replacement %s is being deleted%s", name, because(claim)), nil
		case claim.StatusConditions().IsTrue(karpv1.ConditionTypeInitialized):
			continue
		case q.Clock.Since(f.order.Begun) >= patience:
			return false, fmt.Sprintf("its replacement %s is not initialized after %s%s", name, patience, because(claim)), nil
		}
		ready = false
	}
	if !ready && !f.told {
		f.told = true
		for _, g := range f.Nodes {
			q.tell(g, corev1.EventTypeNormal, events.DisruptionWaitingReadiness, "waiting for "+strings.Join(f.claims, ", ")+" to be initialized")
		}
	}
	return ready, "", nil
}

// giveUp has a command taken back, and what is said of it tell where none of its nodes has gone.
func (f *execution) giveUp(why string) {
	if f.untouched() {
		why += "; no node was removed"
	}
	f.failed = why
}

// untouched reports whether the removal of none of the nodes has begun.
func (f *execution) untouched() bool { return !f.going && len(f.Nodes) == len(f.all) }

// claim reads a claim, from the API when the cache does not have it (yet); nil when there is none.
func (q *Queue) claim(ctx context.Context, name string) (*karpv1.NodeClaim, error) {
	for _, from := range []client.Reader{q.Client, q.APIReader} {
		claim := &karpv1.NodeClaim{}
		err := from.Get(ctx, client.ObjectKey{Name: name}, claim)
		if err == nil {
			return claim, nil
		}
		if !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("reading nodeclaim %s: %w", name, err)
		}
	}
	return nil, nil
}

// because is what the claim's conditions say about why it is not ready.
func because(claim *karpv1.NodeClaim) string {
	for _, t := range []string{karpv1.ConditionTypeLaunched, karpv1.ConditionTypeRegistered, karpv1.ConditionTypeInitialized} {
		if c := claim.StatusConditions().Get(t); c != nil && !c.IsTrue() && c.Message != "" {
			return ": " + c.Message
		}
	}
	return ""
}

// watchCache asks an API server for objects as its watch cache has them. An exact list of pods by node reads all pods of the cluster
// from etcd before Kubernetes 1.31, which takes seconds in large clusters. Each list needs options of its own: the client writes into Raw.
func watchCache() *client.ListOptions {
	return &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: "0"}}
}

// lookAgain says why a node must not go after all, by its annotation and by its pods as the API server has them.
//
// What it looks for are pods that a scheduler bound which had not seen the taint. The taint is Settle old at least: seconds, of which the
// server may lag behind etcd by a fraction. It is a request all the same, not this process's own cache: a watch that hangs is not noticed
// for minutes. A pod that is missed is evicted by the drain as any other, which heeds budgets and what holds the pod.
func (q *Queue) lookAgain(ctx context.Context, f *execution, g Going) (string, error) {
	if slices.ContainsFunc(q.State.Snapshot().Nodes, func(n *cluster.Node) bool { return n.Name == g.Node && n.DoNotDisrupt }) {
		return "its annotation asks that it is not disrupted", nil
	}
	var pods corev1.PodList
	if err := q.APIReader.List(ctx, &pods, client.MatchingFields{index.PodNode: g.Node}, watchCache()); err != nil {
		return "", fmt.Errorf("listing pods of node %q: %w", g.Node, err)
	}
	now := q.Clock.Now()
	waived := false
	if f.Cause == karpv1.DisruptionReasonDrifted { // see subject.eventual
		claim, err := q.claim(ctx, g.Claim)
		if err != nil {
			return "", err
		}
		waived = claim != nil && claim.Spec.TerminationGracePeriod != nil
	}
	leave := 0
	for i := range pods.Items {
		p := &pods.Items[i]
		if !intake.IsActive(p) || !p.DeletionTimestamp.IsZero() {
			continue
		}
		if held, _ := intake.HeldUntil(p, now); held && !waived {
			return "pod " + p.Namespace + "/" + p.Name + " asks not to be disrupted", nil
		}
		if intake.IsDaemon(p) || intake.IsMirror(p) {
			continue // it never needs another place
		}
		if f.apart() {
			return "pod " + p.Namespace + "/" + p.Name + " has just reached it", nil
		}
		leave++
	}
	f.moves[g.Node] = leave
	return "", nil
}

// placesLost says why pods of the command would find no room any more on the nodes that were chosen for them: one is gone, going or not
// ready. While replacements start, which takes minutes, others may be interrupted, expire or die.
func (q *Queue) placesLost(f *execution) string {
	nodes := map[string]*cluster.Node{} // by name, and by that of the claim: a node is called so before it has joined
	for _, n := range q.State.Snapshot().Nodes {
		nodes[n.Name], nodes[n.Claim] = n, n
	}
	for _, p := range f.Placements {
		taker := fmt.Sprintf("node %s, which was to take %s, ", p.Node, plan.Count(len(p.Pods), "pod"))
		switch n := nodes[p.Node]; {
		case n == nil:
			return taker + "is gone"
		case n.Deleting || n.Leaving:
			return taker + "is going itself"
		case n.Initialized && !n.Ready:
			return taker + "is not ready"
		}
	}
	for _, name := range f.claims {
		if n := nodes[name]; n != nil && n.Initialized && !n.Ready {
			return fmt.Sprintf("its replacement %s is not ready any more", name)
		}
	}
	return ""
}

// remove deletes the claim of a node.
func (q *Queue) remove(ctx context.Context, f *execution, g Going) error {
	claim, err := q.claim(ctx, g.Claim)
	if err != nil || claim == nil || !claim.DeletionTimestamp.IsZero() {
		return err
	}
	if claim, err = q.sign(ctx, f, claim); err != nil || claim == nil {
		return err
	}
	q.tell(g, corev1.EventTypeNormal, events.DisruptionTerminating, string(f.Cause)+": "+f.Why)
	if begun, err := deadline.Delete(ctx, q.Client, claim); err != nil || !begun {
		return err
	}
	labels := []string{strings.ToLower(string(f.Cause)), g.Pool, g.CapacityType, string(f.Policy), index.TerminationMode(claim)}
	q.Metrics.NodeClaimsDisrupted.WithLabelValues(labels...).Inc()
	q.Metrics.Disruption.Pods.WithLabelValues(labels...).Add(float64(f.moves[g.Node]))
	q.Log.Info("removing node", append(story.Of(claim), "reason", f.Cause, "node", g.Node, "nodeclaim", g.Claim, "instance_type", g.InstanceType, "capacity_type", g.CapacityType)...)
	return nil
}
