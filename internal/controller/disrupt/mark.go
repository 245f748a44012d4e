package disrupt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/controller/story"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// orderAnnotation is on a Node that bears intake.DisruptingAnnotation; it holds an order.
const orderAnnotation = "kerf.sh/disruption-order"

// order is what a new leader needs to go on with a command, or to take it back. All nodes of a command bear the same one,
// but for ForeignTaint.
type order struct {
	Begun        time.Time                  `json:"begun"`
	Replacements int                        `json:"replacements,omitempty"`
	Policy       karpv1.ConsolidationPolicy `json:"policy,omitempty"`
	// Traceparent is the span below which the rest of the command is recorded; empty while traces are off.
	Traceparent string `json:"traceparent,omitempty"`
	// ForeignTaint: somebody else had put the taint on the node before. It stays when the mark is taken back.
	ForeignTaint bool `json:"foreignTaint,omitempty"`
}

// readOrder is what the node's mark says; ok is false when it bears none that can be read.
func readOrder(node *corev1.Node) (o order, ok bool) {
	err := json.Unmarshal([]byte(node.Annotations[orderAnnotation]), &o)
	return o, err == nil
}

var (
	errGone      = errors.New("it is gone or being deleted")
	errOtherMark = errors.New("it is part of another command")
)

// mark writes the taint and the order to the node, and the reason to its claim.
//
// Errors: errGone, errOtherMark, those of the API.
func (q *Queue) mark(ctx context.Context, f *execution, g Going) error {
	err := q.editNode(ctx, q.Client, g.Node, func(node *corev1.Node) error {
		switch id := node.Annotations[index.CommandAnnotation]; {
		case !node.DeletionTimestamp.IsZero():
			return errGone
		case intake.Leaving(node) && id != f.ID:
			return errOtherMark
		case intake.Leaving(node):
			return nil
		}
		own := f.order
		if hasTaint(node) {
			own.ForeignTaint = true
		} else {
			// With the time, so that the drain does not wait once more until the scheduler has seen it.
			taint := karpv1.DisruptedNoScheduleTaint()
			taint.TimeAdded = new(metav1.NewTime(q.Clock.Now()))
			node.Spec.Taints = append(node.Spec.Taints, taint)
		}
		text, _ := json.Marshal(own) // none of it can fail
		for key, value := range map[string]string{intake.DisruptingAnnotation: string(f.Cause), index.CommandAnnotation: f.ID, orderAnnotation: string(text)} {
			metav1.SetMetaDataAnnotation(&node.ObjectMeta, key, value)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("marking node %s: %w", g.Node, err)
	}
	launched := ""
	err = q.editClaim(ctx, g.Claim, func(claim *karpv1.NodeClaim) error {
		if !claim.DeletionTimestamp.IsZero() {
			return errGone
		}
		claim.StatusConditions().WithClock(q.Clock.Now).SetTrueWithReason(karpv1.ConditionTypeDisruptionReason, string(f.Cause), f.Why)
		launched = claim.Annotations[story.TraceparentAnnotation]
		return nil
	})
	if err != nil {
		return fmt.Errorf("marking nodeclaim %s: %w", g.Claim, err)
	}
	f.span.Link(launched)
	return nil
}

func hasTaint(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, isOurTaint)
}

// isOurTaint reports whether it is the taint that Kerf puts on nodes that go.
func isOurTaint(t corev1.Taint) bool {
	taint := karpv1.DisruptedNoScheduleTaint()
	return t.MatchTaint(&taint)
}

// unmark takes what a command has put on a node and its claim off again; without an ID, the taint and the reason of a disruption
// that the node says nothing of. What is gone, or going for another reason, is left alone.
//
// The node comes first: a reason that is left on a claim is found by the sweep, a taint without one would be somebody else's. Where the
// taint is somebody else's only the order on the node knows that, and the claim comes first.
func (q *Queue) unmark(ctx context.Context, id string, g Going) error {
	if g.Claim != "" {
		claim, err := q.claim(ctx, g.Claim)
		if err != nil || claim != nil && !claim.DeletionTimestamp.IsZero() {
			return err // where its end is under way, the mark goes with it
		}
	}
	// The cache may not have seen the mark yet, and would have it that there is nothing to take off.
	err := q.editNode(ctx, q.APIReader, g.Node, func(node *corev1.Node) error {
		leaving := intake.Leaving(node)
		switch {
		case !node.DeletionTimestamp.IsZero(), leaving && node.Annotations[index.CommandAnnotation] != id:
			return errOtherMark
		case !leaving && id != "":
			return errGone // the mark is off already
		}
		if o, ok := readOrder(node); !leaving || !ok || !o.ForeignTaint {
			node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, isOurTaint)
		} else if err := q.unmarkClaim(ctx, g); err != nil {
			return err
		}
		if leaving { // else the annotation says which command launched it
			for _, key := range []string{intake.DisruptingAnnotation, index.CommandAnnotation, orderAnnotation} {
				delete(node.Annotations, key)
			}
		}
		return nil
	})
	switch {
	case errors.Is(err, errOtherMark):
		return nil
	case client.IgnoreNotFound(err) != nil && !errors.Is(err, errGone):
		return fmt.Errorf("taking the mark off node %s: %w", g.Node, err)
	}
	return q.unmarkClaim(ctx, g)
}

// unmarkClaim takes the reason off a claim. One that is gone, or going, is left alone.
func (q *Queue) unmarkClaim(ctx context.Context, g Going) error {
	if g.Claim == "" {
		return nil
	}
	signed := false
	err := q.editClaim(ctx, g.Claim, func(claim *karpv1.NodeClaim) error {
		if !claim.DeletionTimestamp.IsZero() {
			return errGone
		}
		claim.StatusConditions().WithClock(q.Clock.Now).Clear(karpv1.ConditionTypeDisruptionReason)
		signed = claim.Annotations[story.EndedByAnnotation] != ""
		return nil
	})
	if err == nil && signed { // its deletion had failed
		err = annotate(ctx, q.Client, &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: g.Claim}}, map[string]any{story.EndedByAnnotation: nil})
	}
	if client.IgnoreNotFound(err) != nil && !errors.Is(err, errGone) {
		return fmt.Errorf("taking the mark off nodeclaim %s: %w", g.Claim, err)
	}
	return nil
}

// editNode changes a node as it is now, and tells the state of it at once. It is read from where the caller says at first, and from
// the API once somebody else wrote to it meanwhile.
func (q *Queue) editNode(ctx context.Context, from client.Reader, name string, change func(*corev1.Node) error) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		stored := &corev1.Node{}
		if err := from.Get(ctx, client.ObjectKey{Name: name}, stored); err != nil {
			return err
		}
		from = q.APIReader
		node := stored.DeepCopy()
		if err := change(node); err != nil {
			return err
		}
		if err := q.Client.Patch(ctx, node, client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{})); err != nil {
			return err
		}
		q.State.SetNode(node)
		return nil
	})
}

// editClaim changes a claim's status as it is now.
func (q *Queue) editClaim(ctx context.Context, name string, change func(*karpv1.NodeClaim) error) error {
	var from client.Reader = q.Client
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		stored := &karpv1.NodeClaim{}
		if err := from.Get(ctx, client.ObjectKey{Name: name}, stored); err != nil {
			return err
		}
		from = q.APIReader
		claim := stored.DeepCopy()
		if err := change(claim); err != nil {
			return err
		}
		return q.Client.Status().Patch(ctx, claim, client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{}))
	})
}
