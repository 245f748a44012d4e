package lifecycle

import (
	"context"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/story"
	"github.com/kerf-sh/kerf/internal/state/cloud"
	"github.com/kerf-sh/kerf/internal/trace"
)

// launchEnded ends the span of a launch.
func launchEnded(span *trace.Span, claim *karpv1.NodeClaim, instance *cloud.Instance, err error) {
	if span == nil {
		return
	}
	story.Describe(span, claim)
	span.Fail(err)
	if instance != nil {
		span.Text(trace.ResourceID, instance.ProviderID)
		span.Text(trace.HostID, instance.InstanceID)
		span.Text(trace.HostType, instance.InstanceType)
		span.Text(trace.Zone, instance.Zone)
		span.Text(trace.CapacityType, instance.CapacityType)
		span.Text(trace.LaunchID, instance.LaunchID)
	}
	span.End()
}

// past records what a claim has waited for since one of its conditions came true. The object tells since when, so it does not
// matter which process saw it begin.
func (c *Controller) past(ctx context.Context, claim *karpv1.NodeClaim, name, since string) {
	if c.Trace == nil {
		return
	}
	from := claim.CreationTimestamp.Time
	if began := claim.StatusConditions().Get(since); began.IsTrue() {
		from = began.LastTransitionTime.Time
	}
	span := c.Trace.Past(story.Resume(ctx, c.Trace, claim), name, from, c.Clock.Now())
	story.Describe(span, claim)
	span.End()
}
