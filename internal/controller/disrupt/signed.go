package disrupt

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/story"
	"github.com/kerf-sh/kerf/internal/trace"
)

// sign writes on a claim by which command it goes, and where the command's trace goes on: its Node, which bears both, is gone
// before the claim is. It returns the claim as it is now, nil where it has gone.
func (q *Queue) sign(ctx context.Context, f *execution, claim *karpv1.NodeClaim) (*karpv1.NodeClaim, error) {
	if claim.Annotations[story.EndedByAnnotation] == f.ID {
		return claim, nil
	}
	out := claim.DeepCopy()
	metav1.SetMetaDataAnnotation(&out.ObjectMeta, story.EndedByAnnotation, f.ID)
	delete(out.Annotations, story.TraceparentAnnotation)
	if f.order.Traceparent != "" {
		out.Annotations[story.TraceparentAnnotation] = f.order.Traceparent
	}
	if err := q.Client.Patch(ctx, out, client.MergeFrom(claim)); err != nil {
		return nil, client.IgnoreNotFound(fmt.Errorf("writing on nodeclaim %q by which command it goes: %w", claim.Name, err))
	}
	return out, nil
}

// describe sets the attributes of a command's span.
func (f *execution) describe(span *trace.Span) {
	span.Text(trace.CommandID, f.ID)
	span.Text(trace.Reason, string(f.Cause))
	span.Int(trace.Nodes, len(f.Nodes))
	span.Int(trace.NewNodes, len(f.NewNodes))
}

// replacementsReady records, once, for how long the command has waited for its replacements.
func (q *Queue) replacementsReady(ctx context.Context, f *execution) {
	if f.reached || len(f.claims) == 0 {
		return
	}
	f.reached = true
	span := q.Trace.Past(q.Trace.Resume(ctx, f.ID, f.order.Traceparent), "disruption.replacements", f.order.Begun, q.Clock.Now())
	f.describe(span)
	span.End()
}
