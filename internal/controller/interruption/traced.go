package interruption

import (
	"context"

	oteltrace "go.opentelemetry.io/otel/trace"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/aws/queue"
	"github.com/kerf-sh/kerf/internal/controller/story"
	"github.com/kerf-sh/kerf/internal/trace"
)

// actTraced is act as a span in the trace of the claim that a message is about. Messages about instances of others are none.
func (c *Controller) actTraced(ctx context.Context, m *queue.Delivery, claim *karpv1.NodeClaim, n news) error {
	if c.Trace == nil {
		return c.act(ctx, claim, n)
	}
	ctx, span := c.Trace.StartKind(story.Resume(ctx, c.Trace, claim), "interruption.message", oteltrace.SpanKindConsumer)
	defer span.End()
	story.Describe(span, claim)
	span.Text(trace.Reason, string(n.kind))
	span.Text(trace.MessagingSystem, "aws_sqs")
	span.Text(trace.MessagingOperation, "process")
	span.Text(trace.MessageID, m.ID)
	span.Text(trace.Destination, c.Queue.Name())
	err := c.act(ctx, claim, n)
	span.Fail(err)
	return err
}
