package disrupt

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/apply"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
)

const (
	// longestEarning is the most for which the instances of a move stay so that it pays back.
	longestEarning = 6 * time.Hour
	// loosePercent of the bill is what must have been spent on more than the pods are worth for these instances to go as well.
	loosePercent = 30
)

// earning says whether the node is one that a move has launched which has not paid back yet, and until when it stays for that:
// the next decision finds it not as full as planned, because the scheduler puts pods elsewhere, and would replace it again
// before it was of any use. Nodes without pods are of no use to a move, and nodes of a loose cluster not much: the load that
// it was made for has gone.
func earning(n *cluster.Node, claim *karpv1.NodeClaim, loose bool, now time.Time) (r disrupt.Reason, until time.Time) {
	if claim == nil || loose || empty(n) {
		return r, until
	}
	until, err := time.Parse(time.RFC3339, claim.Annotations[apply.EarningAnnotation])
	if longest := claim.CreationTimestamp.Add(longestEarning); until.After(longest) {
		until = longest // whoever has written it
	}
	if err != nil || !now.Before(until) {
		return r, time.Time{}
	}
	return disrupt.Reason{Code: disrupt.Earning, Want: until.UTC().Format(time.RFC3339)}, until
}

// earnsNothing takes the note off a replacement whose command was taken back: nothing keeps the instance if it stays at all.
func (q *Queue) earnsNothing(ctx context.Context, name string) error {
	claim, err := q.claim(ctx, name)
	if err != nil || claim == nil || !claim.DeletionTimestamp.IsZero() || claim.Annotations[apply.EarningAnnotation] == "" {
		return err
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{apply.EarningAnnotation: nil}}})
	if err != nil {
		return err
	}
	if err := q.Client.Patch(ctx, claim.DeepCopy(), client.RawPatch(types.MergePatchType, patch)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("noting on nodeclaim %s that its move was taken back: %w", name, err)
	}
	return nil
}
