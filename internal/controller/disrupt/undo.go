package disrupt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/events"
	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/controller/story"
)

// undo takes a command back: the nodes that are still there lose their marks, and replacements that nothing can have
// reached yet are given back. It may be called again until it succeeds.
func (q *Queue) undo(ctx context.Context, f *execution) error {
	if err := q.unhold(ctx, f); err != nil { // before the marks go: nobody would know of it without them
		return fmt.Errorf("taking back a disruption: %w", err)
	}
	errs := each(q, f.Nodes, func(g Going) error { return q.unmark(ctx, f.ID, g) })
	for _, name := range f.claims {
		errs = append(errs, q.giveBack(ctx, name))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("taking back a disruption: %w", err)
	}
	begun := f.whole()
	q.Metrics.Disruption.QueueFailures.WithLabelValues(f.decision(), strings.ToLower(string(f.Cause)), begun.kind()).Inc()
	for _, g := range f.Nodes {
		q.tell(g, corev1.EventTypeWarning, events.DisruptionUndone, "it stays: "+f.failed)
	}
	if f.said {
		q.Log.Warn("took a disruption back; its nodes are kept", "command-id", f.ID, "reason", f.Cause, "what", f.Command.String(), "why", f.failed)
	}
	return nil
}

// giveBack deletes a replacement that is not initialized and that no pod but those of the command counted on: each attempt
// would leave another one there that nothing else ends. One that is initialized stays: if nothing needs it, it goes as any
// empty node does.
func (q *Queue) giveBack(ctx context.Context, name string) error {
	claim := &karpv1.NodeClaim{}
	// The cache may not have seen yet that unhold has written to it.
	err := q.APIReader.Get(ctx, client.ObjectKey{Name: name}, claim)
	if err != nil || !claim.DeletionTimestamp.IsZero() || claim.StatusConditions().IsTrue(karpv1.ConditionTypeInitialized) {
		return client.IgnoreNotFound(err)
	}
	for _, n := range q.State.Snapshot().Nodes {
		if n.Claim == name && (n.Initialized || !empty(n)) {
			return nil
		}
	}
	if err := q.Client.Delete(ctx, claim, client.Preconditions{UID: &claim.UID, ResourceVersion: &claim.ResourceVersion}); err != nil {
		return client.IgnoreNotFound(err)
	}
	q.Log.Info("gave back a replacement that no disruption waits for", "nodeclaim", name, "decision-id", claim.Annotations[story.DecisionAnnotation], "command-id", claim.Annotations[index.CommandAnnotation])
	return nil
}

// release lets a node of a command stay while the others go.
func (q *Queue) release(ctx context.Context, f *execution, g Going, why string) error {
	if err := q.unmark(ctx, f.ID, g); err != nil {
		return err
	}
	q.tell(g, corev1.EventTypeNormal, events.DisruptionUndone, "it stays: "+why)
	q.Metrics.Disruption.Released.WithLabelValues(strings.ToLower(string(f.Cause))).Inc()
	q.Log.Info("kept a node that was to go", "command-id", f.ID, "reason", f.Cause, "node", g.Node, "why", why)
	q.mu.Lock()
	defer q.mu.Unlock()
	f.Nodes = slices.DeleteFunc(slices.Clone(f.Nodes), func(n Going) bool { return n == g })
	delete(q.executions, g.Claim)
	return nil
}
