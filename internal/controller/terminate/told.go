package terminate

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/story"
	"github.com/kerf-sh/kerf/internal/trace"
)

// sayProgress tells, once it is written on the claim, that the node is drained and that its instance ends.
func (n *Nodes) sayProgress(ctx context.Context, node *corev1.Node, stored, claim *karpv1.NodeClaim) {
	was, is := stored.StatusConditions(), claim.StatusConditions()
	line := func(message string) {
		said := append(story.OfNode(node), "node", node.Name, "nodeclaim", claim.Name, "provider_id", claim.Status.ProviderID)
		n.Log.InfoContext(ctx, message, append(said, "after", n.Clock.Since(node.DeletionTimestamp.Time))...)
	}
	if is.IsTrue(karpv1.ConditionTypeDrained) && !was.IsTrue(karpv1.ConditionTypeDrained) {
		line("drained node")
		span := n.Trace.Past(story.Resume(ctx, n.Trace, claim), "node.drain", node.DeletionTimestamp.Time, n.Clock.Now())
		story.Describe(span, claim)
		span.End()
	}
	if is.IsTrue(karpv1.ConditionTypeInstanceTerminating) && !was.IsTrue(karpv1.ConditionTypeInstanceTerminating) {
		line("terminating instance")
	}
}

// asked is ctx in the trace of a claim the first time that its instance is asked to end. It is asked again until it is gone, and
// those calls say nothing more.
func asked(ctx context.Context, t *trace.Tracer, claim *karpv1.NodeClaim) context.Context {
	if t == nil || claim == nil || claim.StatusConditions().IsTrue(karpv1.ConditionTypeInstanceTerminating) {
		return ctx
	}
	return story.Resume(ctx, t, claim)
}

// ended records how long the instance of a claim took to end.
func (c *Claims) ended(ctx context.Context, claim *karpv1.NodeClaim) {
	since := claim.StatusConditions().Get(karpv1.ConditionTypeInstanceTerminating)
	if c.Trace == nil || !since.IsTrue() {
		return
	}
	span := c.Trace.Past(story.Resume(ctx, c.Trace, claim), "instance.terminate", since.LastTransitionTime.Time, c.Clock.Now())
	story.Describe(span, claim)
	span.End()
}
