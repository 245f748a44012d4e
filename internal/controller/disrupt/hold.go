package disrupt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/apply"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
)

const (
	// filledHold is how long a node is held that a move brings pods to: the next decision would find it not as full as planned
	// while they are on their way, and move them once more.
	filledHold = 10 * time.Minute
	// longestHold is the most for which an instance is held that a move has launched: until that has paid back twice.
	longestHold = 6 * time.Hour
	// undoneHold is how long a node is held whose consolidation was taken back. What could not be launched a moment ago can't
	// be launched now either, as a rule.
	undoneHold = 5 * time.Minute
	// loosePercent of the bill is what must be spent on more than the pods are worth for held nodes to go as well: the load that
	// moves were made for has gone.
	loosePercent = 30
	// skew is by how much the clocks of two leaders may differ.
	skew = time.Minute
)

// tooFar reports whether an end is farther ahead than any that Kerf writes, which is most: it was written while a clock was wrong,
// and is not believed.
func tooFar(until, now time.Time, most time.Duration) bool { return until.Sub(now) > most+skew }

// held says whether consolidation leaves a node alone for what a move has done to it, and until when. That stands on its claim
// (apply.HoldUntilAnnotation), so that the next leader knows it. Where a move has filled or launched the node, that ends when it
// has no pods, for it is of no use to the move, or when the cluster is loose, for it is of little.
func (s *subject) held() (r disrupt.Reason, until time.Time) {
	if s.claim == nil || s.claim.Annotations[apply.HoldUntilAnnotation] == "" {
		return r, until
	}
	until, err := time.Parse(time.RFC3339, s.claim.Annotations[apply.HoldUntilAnnotation])
	why, _, moved := strings.Cut(s.claim.Annotations[apply.HoldReasonAnnotation], apply.ByCommand)
	if err != nil || !s.now.Before(until) || tooFar(until, s.now, longestHold) || moved && (s.loose || empty(s.node)) {
		return r, time.Time{}
	}
	return disrupt.Reason{Code: disrupt.Held, Want: until.UTC().Format(time.RFC3339), Detail: why}, until
}

// hold writes on a claim until when its node is left alone, and why, unless it is held for longer. What is gone is left as it is.
func (q *Queue) hold(ctx context.Context, name string, until time.Time, why string) error {
	claim := &karpv1.NodeClaim{}
	if err := q.Client.Get(ctx, client.ObjectKey{Name: name}, claim); err != nil {
		return client.IgnoreNotFound(err)
	}
	if has, err := time.Parse(time.RFC3339, claim.Annotations[apply.HoldUntilAnnotation]); err == nil && !has.Before(until) && !tooFar(has, q.Clock.Now(), longestHold) || !claim.DeletionTimestamp.IsZero() {
		return nil
	}
	if err := annotate(ctx, q.Client, claim, map[string]any{apply.HoldUntilAnnotation: until.UTC().Format(time.RFC3339), apply.HoldReasonAnnotation: why}); err != nil {
		return fmt.Errorf("noting on nodeclaim %s until when it is held: %w", name, err)
	}
	return nil
}

// holdFilled holds the nodes that a command brings pods to. It comes before the marks: who finds those goes on with the command.
func (q *Queue) holdFilled(ctx context.Context, f *execution) error {
	return errors.Join(each(q, f.Filled, func(name string) error {
		return q.hold(ctx, name, f.order.Begun.Add(filledHold), "pods of other nodes were moved to it"+apply.ByCommand+f.ID)
	})...)
}

// unhold lets go of what a command has held, because it is taken back, and holds its nodes instead.
func (q *Queue) unhold(ctx context.Context, f *execution) error {
	byIt := func(c *karpv1.NodeClaim) bool {
		return strings.HasSuffix(c.Annotations[apply.HoldReasonAnnotation], apply.ByCommand+f.ID)
	}
	// Those that a former leader filled only the claims know; what was written a moment ago the cache may not have seen yet.
	held := slices.Concat(f.Filled, f.claims)
	var claims karpv1.NodeClaimList
	if err := q.Client.List(ctx, &claims); err != nil {
		return fmt.Errorf("listing nodeclaims: %w", err)
	}
	for i := range claims.Items {
		if c := &claims.Items[i]; byIt(c) && !slices.Contains(held, c.Name) {
			held = append(held, c.Name)
		}
	}
	err := errors.Join(each(q, held, func(name string) error {
		claim := &karpv1.NodeClaim{}
		if err := q.APIReader.Get(ctx, client.ObjectKey{Name: name}, claim); err != nil || !byIt(claim) {
			return client.IgnoreNotFound(err)
		}
		return annotate(ctx, q.Client, claim, map[string]any{apply.HoldUntilAnnotation: nil, apply.HoldReasonAnnotation: nil})
	})...)
	if err != nil {
		return fmt.Errorf("ending the hold of nodeclaims: %w", err)
	}
	if f.moot || f.Cause == karpv1.DisruptionReasonDrifted { // drift has pauses of its own
		return nil
	}
	for _, g := range f.all {
		if err := q.hold(ctx, g.Claim, q.Clock.Now().Add(undoneHold), "its consolidation was undone: "+f.failed); err != nil {
			return err
		}
	}
	return nil
}

// annotate changes annotations of an object, unless it is gone; null takes one off.
func annotate(ctx context.Context, c client.Client, o client.Object, annotations map[string]any) error {
	patch, _ := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": annotations}}) // none of it can fail
	return client.IgnoreNotFound(c.Patch(ctx, o.DeepCopyObject().(client.Object), client.RawPatch(types.MergePatchType, patch)))
}
