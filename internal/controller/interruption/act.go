package interruption

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/aws/queue"
	"github.com/kerf-sh/kerf/internal/controller/deadline"
	"github.com/kerf-sh/kerf/internal/controller/events"
	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/controller/story"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// news is what is known of one instance, and what is to be done about it.
type news struct {
	kind queue.Kind
	rule rule
	// at is when it was said; zero when that is not known.
	at          time.Time
	maintenance *queue.Maintenance
	// polled: it was read from EC2's instance status, not from a message.
	polled bool
}

// act does what the news asks for. It may be told the same again, or late, or in any order.
func (c *Controller) act(ctx context.Context, claim *karpv1.NodeClaim, n news) error {
	now := c.Clock.Now()
	n.rule = n.rule.of(claim)
	switch n.rule.how {
	case inWindow:
		return c.schedule(ctx, claim, n)
	case atOnce:
		if ready, err := c.ready(ctx, claim); err != nil {
			return err
		} else if ready {
			n.rule.how = graceful
		}
	}
	by := due(n.at, now)
	if n.rule.how == byNotice && by.Add(margin).Before(now) {
		// The warning is older than its notice. If the instance is gone, that is known by other ways.
		if gone, _, err := c.gone(ctx, claim); err != nil || gone {
			return err
		}
		by = now.Add(overtime)
	}
	switch reservation := claim.Labels[awsv1.LabelCapacityReservationID]; {
	case !n.rule.closes:
	case n.kind == queue.ReservationInterrupted && reservation != "":
		c.Cloud.EmptyReservation(reservation)
	default:
		c.Cloud.MarkUnavailable(claim.Labels[karpv1.CapacityTypeLabelKey], claim.Labels[corev1.LabelInstanceTypeStable], claim.Labels[corev1.LabelTopologyZone], n.rule.says)
	}
	switch n.rule.how {
	case tell:
		if claim.DeletionTimestamp.IsZero() {
			c.tell(ctx, claim, n.rule.eventType, n.rule.event, n.rule.says)
		}
		return nil
	case byNotice:
		return c.drain(ctx, claim, n, by)
	case ifGone:
		if !claim.DeletionTimestamp.IsZero() {
			return nil // we ended it ourselves, or its end is under way
		}
		if claim.Status.NodeName == "" {
			return nil // the lifecycle controller looks after instances whose node has not come, and tells why they end
		}
		if gone, why, err := c.gone(ctx, claim); err == nil && gone {
			c.Recorder.Eventf(claim, warning, events.InstanceGone, "instance %s no longer runs; it was not Kerf that ended it%s", claim.Status.ProviderID, why)
			return c.drain(ctx, claim, n, now)
		}
	case atOnce:
		return c.drain(ctx, claim, n, now)
	}
	return c.drain(ctx, claim, n, time.Time{})
}

// of names the instance in what is said.
func (r rule) of(claim *karpv1.NodeClaim) rule {
	r.says = about(r.says, " (%s)", claim.Status.ProviderID[strings.LastIndexByte(claim.Status.ProviderID, '/')+1:])
	return r
}

// ready reports whether Kubernetes holds a node of the claim to be ready.
func (c *Controller) ready(ctx context.Context, claim *karpv1.NodeClaim) (bool, error) {
	nodes, err := index.NodesOfClaim(ctx, c.Client, claim)
	return slices.ContainsFunc(nodes, index.Ready), err
}

// gone reports whether the instance no longer runs and never will, and why, as an ending of a sentence.
func (c *Controller) gone(ctx context.Context, claim *karpv1.NodeClaim) (gone bool, why string, err error) {
	m, err := c.Cloud.Get(ctx, claim.Status.ProviderID)
	switch {
	case cloud.IsNotFound(err):
		return true, ": " + err.Error(), nil
	case err != nil:
		return false, "", fmt.Errorf("reading the instance of nodeclaim %q: %w", claim.Name, err)
	case m.StateReason != "":
		why = ": " + m.StateReason
	}
	return m.State == "shutting-down" || m.State == "terminated", why, nil
}

// drain has the instance's pods moved: the NodeClaim is deleted, which drains its node and launches what its pods need
// elsewhere. by is when the last pod has to be gone, past all budgets; zero leaves that to terminationGracePeriod.
//
// Why it goes is written before the deletion, and with it the end that a warning gives: whoever sees that the claim is going must see
// both, or the drain does not wait for replacements. Any other end is written after the deletion. Where that is cut short in between,
// the same news comes again, by the queue, the annotation or EC2's status, and finds a claim that is going without it. The other way
// round a claim that lives on, because the work on its instance is called off, would keep an end that counts whenever it goes.
func (c *Controller) drain(ctx context.Context, claim *karpv1.NodeClaim, n news, by time.Time) error {
	already := c.ledger.of(claim.UID)
	if err := already.take(ctx); err != nil {
		return fmt.Errorf("waiting for the turn of nodeclaim %q: %w", claim.Name, err)
	}
	defer already.leave()
	if already.deleted.Load() || !claim.DeletionTimestamp.IsZero() {
		return client.IgnoreNotFound(c.stamp(ctx, claim, n, by, already))
	}
	known := time.Time{} // no warning is called off
	if n.rule.how == byNotice {
		known = by
	}
	if err := c.stamp(ctx, claim, n, known, already); err != nil {
		return client.IgnoreNotFound(err)
	}
	if begun, err := deadline.Delete(ctx, c.Client, claim); err != nil || !begun {
		return err
	}
	already.deleted.Store(true)
	err := c.stamp(ctx, claim, n, by, already)
	text := n.rule.says
	if !by.IsZero() {
		text = about(text, "; its pods are moved by %s", when(by))
	} else {
		text += "; its pods are moved"
	}
	c.tell(ctx, claim, n.rule.eventType, n.rule.event, text)
	c.tell(ctx, claim, warning, events.TerminatingOnInterruption, "the node is drained and its instance ended because of an interruption: "+n.rule.says)
	c.Metrics.NodeClaimsDisrupted.WithLabelValues(string(n.kind), claim.Labels[karpv1.NodePoolLabelKey], claim.Labels[karpv1.CapacityTypeLabelKey], "", mode(claim, n.rule)).Inc()
	said := append(story.Of(claim), "messageKind", n.kind, "nodeclaim", claim.Name, "action", "CordonAndDrain", "node", claim.Status.NodeName, "provider_id", claim.Status.ProviderID, "said_at", n.at)
	if !by.IsZero() {
		said = append(said, "deadline", by)
	}
	c.Log.InfoContext(ctx, "initiating delete from interruption message", said...)
	return client.IgnoreNotFound(err)
}

// mode is the metric's word for how long a drain may take: as long as it needs, to a known end, or not at all.
func mode(claim *karpv1.NodeClaim, r rule) string {
	switch {
	case r.how == atOnce:
		return "forceful"
	case r.how == byNotice || claim.Spec.TerminationGracePeriod != nil:
		return "eventual"
	}
	return "graceful"
}

// stamp writes why the instance goes, and when: the drain ends then. A sooner end stays, and so does one that was written
// already and that the cache does not show yet.
func (c *Controller) stamp(ctx context.Context, claim *karpv1.NodeClaim, n news, by time.Time, already *done) error {
	var why map[string]string
	if n.rule.ahead {
		why = map[string]string{index.InterruptedAnnotation: string(n.kind)}
	}
	if already.sooner(by) {
		by = time.Time{}
	}
	if already.why {
		why = nil
	}
	written, err := deadline.Mark(ctx, c.Client, claim, c.Clock.Now(), by, why)
	already.why = already.why || why != nil && err == nil
	if !written.IsZero() {
		already.deadline = written
	}
	return err
}

// tell records an event on a claim and its nodes.
func (c *Controller) tell(ctx context.Context, claim *karpv1.NodeClaim, eventType, reason, text string) {
	index.Tell(ctx, c.Client, c.Recorder, claim, eventType, reason, text)
}

// claimOf finds the claim of an instance; nil when the instance is not of this cluster. It must not be written to.
func (c *Controller) claimOf(ctx context.Context, instanceID string) (*karpv1.NodeClaim, error) {
	name, ok := c.Instances.claim(instanceID)
	if !ok {
		return nil, nil
	}
	claim := &karpv1.NodeClaim{}
	if err := c.Client.Get(ctx, client.ObjectKey{Name: name}, claim, client.UnsafeDisableDeepCopy); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return nil, nil
		}
		return nil, fmt.Errorf("reading nodeclaim %q: %w", name, err)
	}
	if !index.Managed(claim) || !strings.HasSuffix(claim.Status.ProviderID, "/"+instanceID) {
		return nil, nil
	}
	return claim, nil
}
