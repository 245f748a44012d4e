// Package interrupt reads the interruption queue and moves pods to safety before AWS takes a machine back.
//
// A message is deleted from the queue only when what it asks for is done, or when it can never be done. A message that
// can't be understood is counted, told of, and deleted: it must not block the queue.
package interrupt

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/aws/queue"
	"github.com/kerf-sh/kerf/internal/cloud"
	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/obs"
)

// notice is the time that AWS gives between a spot interruption warning and the end of the machine (EC2 user guide,
// "Spot Instance interruption notices").
const notice = 2 * time.Minute

const (
	parallel   = 10
	retryFirst = time.Second
	retryMost  = 30 * time.Second
)

// malformed is the metric's label for a message that can't be read.
const malformed = "malformed"

// Queue delivers messages.
type Queue interface {
	// Receive waits for messages, at most about 20 seconds.
	Receive(ctx context.Context) ([]queue.Delivery, error)
	// Delete removes messages from the queue.
	Delete(ctx context.Context, deliveries []queue.Delivery) error
}

// Controller is the loop.
type Controller struct {
	Client   client.Client
	Cloud    cloud.Provider
	Queue    Queue
	Recorder record.EventRecorder
	Metrics  *obs.Metrics
	Log      *slog.Logger
	Clock    clock.Clock
}

// NeedLeaderElection makes the manager start the loop on the leader only.
func (c *Controller) NeedLeaderElection() bool { return true }

// Start runs the loop until ctx ends.
func (c *Controller) Start(ctx context.Context) error {
	wait := retryFirst
	for ctx.Err() == nil {
		err := c.Metrics.Recover(c.Log, "interruption", func() error { return c.round(ctx) })
		if err == nil {
			wait = retryFirst
			continue
		}
		if ctx.Err() != nil {
			return nil //nolint:nilerr // being told to stop is no failure
		}
		c.Log.Error("reading the interruption queue", "error", err, "retry_in", wait)
		select {
		case <-ctx.Done():
		case <-c.Clock.After(wait):
		}
		wait = min(2*wait, retryMost)
	}
	return nil
}

// round receives once and handles what came.
func (c *Controller) round(ctx context.Context) error {
	messages, err := c.Queue.Receive(ctx)
	if err != nil {
		return err
	}
	if len(messages) == 0 {
		return nil
	}
	done := make([]bool, len(messages))
	errs := make([]error, len(messages))
	g := errgroup.Group{}
	g.SetLimit(parallel)
	for i := range messages {
		g.Go(func() error {
			errs[i] = c.Metrics.Recover(c.Log, "interruption", func() error { return c.handle(ctx, &messages[i]) })
			done[i] = errs[i] == nil
			return nil
		})
	}
	_ = g.Wait()
	var finished []queue.Delivery
	for i, m := range messages {
		if done[i] {
			finished = append(finished, m)
			continue
		}
		// The message comes again when its visibility time is over; the others must not wait for it.
		c.Log.Error("handling a message of the interruption queue", "message_id", m.ID, "error", errs[i])
	}
	if len(finished) > 0 {
		if err := c.Queue.Delete(ctx, finished); err != nil {
			return fmt.Errorf("deleting handled messages: %w", err)
		}
		c.Metrics.InterruptionDeleted.Add(float64(len(finished)))
	}
	return nil
}

func (c *Controller) handle(ctx context.Context, m *queue.Delivery) error {
	kind := malformed
	if m.Event != nil {
		kind = string(m.Event.Kind)
	}
	c.Metrics.InterruptionReceived.WithLabelValues(kind).Inc()
	if !m.SentAt.IsZero() {
		c.Metrics.InterruptionLatency.Observe(max(0, c.Clock.Since(m.SentAt).Seconds()))
	}
	if m.Event == nil {
		c.Log.Error("dropped a message of the interruption queue", "error", m.Err)
		return nil
	}
	if m.Event.Kind != queue.SpotInterrupted {
		return nil
	}
	var errs []error
	for _, id := range m.Event.InstanceIDs {
		errs = append(errs, c.spot(ctx, id, m.Event.Time))
	}
	return errors.Join(errs...)
}

// spot moves the pods of a machine that AWS will take back in two minutes.
func (c *Controller) spot(ctx context.Context, instanceID string, from time.Time) error {
	claim, err := c.claimOf(ctx, instanceID)
	if err != nil || claim == nil {
		return err
	}
	if from.IsZero() || from.After(c.Clock.Now()) {
		from = c.Clock.Now()
	}
	deadline := from.Add(notice)
	c.Cloud.MarkUnavailable(karpv1.CapacityTypeSpot, claim.Labels[corev1.LabelInstanceTypeStable], claim.Labels[corev1.LabelTopologyZone], "spot capacity is being reclaimed")
	if !claim.DeletionTimestamp.IsZero() && deadlineIsSooner(claim, deadline) {
		return nil
	}
	if err := c.stamp(ctx, claim, deadline); err != nil {
		return client.IgnoreNotFound(err)
	}
	if !claim.DeletionTimestamp.IsZero() {
		return nil
	}
	if err := c.Client.Delete(ctx, claim.DeepCopy(), client.Preconditions{UID: &claim.UID}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting nodeclaim %q of an interrupted machine: %w", claim.Name, err)
	}
	text := fmt.Sprintf("AWS takes spot machine %s back at %s; its pods are moved", instanceID, deadline.UTC().Format(time.RFC3339))
	c.Recorder.Event(claim, corev1.EventTypeWarning, "SpotInterrupted", text)
	if nodes, err := index.NodesOfClaim(ctx, c.Client, claim); err == nil {
		for _, n := range nodes {
			c.Recorder.Event(n, corev1.EventTypeWarning, "SpotInterrupted", text)
		}
	}
	c.Metrics.NodeClaimsDisrupted.WithLabelValues(string(queue.SpotInterrupted), claim.Labels[karpv1.NodePoolLabelKey], claim.Labels[karpv1.CapacityTypeLabelKey], "", "eventual").Inc()
	c.Log.Info("spot interruption", "nodeclaim", claim.Name, "node", claim.Status.NodeName, "instance_id", instanceID, "deadline", deadline)
	return nil
}

func deadlineIsSooner(claim *karpv1.NodeClaim, than time.Time) bool {
	t, err := time.Parse(time.RFC3339, claim.Annotations[karpv1.NodeClaimTerminationTimestampAnnotationKey])
	return err == nil && !t.After(than)
}

// stamp writes when the machine goes: the drain ends then, whatever a disruption budget says, because the machine does.
// A sooner deadline that is there already stays.
func (c *Controller) stamp(ctx context.Context, claim *karpv1.NodeClaim, deadline time.Time) error {
	if deadlineIsSooner(claim, deadline) {
		return nil
	}
	stored := claim.DeepCopy()
	if claim.Annotations == nil {
		claim.Annotations = map[string]string{}
	}
	claim.Annotations[index.InterruptedAnnotation] = string(queue.SpotInterrupted)
	claim.Annotations[karpv1.NodeClaimTerminationTimestampAnnotationKey] = deadline.UTC().Format(time.RFC3339)
	if err := c.Client.Patch(ctx, claim, client.MergeFrom(stored)); err != nil {
		return fmt.Errorf("writing the deadline of interrupted nodeclaim %q: %w", claim.Name, err)
	}
	return nil
}

// claimOf finds the claim of an instance; nil when the instance is not of this cluster.
func (c *Controller) claimOf(ctx context.Context, instanceID string) (*karpv1.NodeClaim, error) {
	var list karpv1.NodeClaimList
	if err := c.Client.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("listing nodeclaims: %w", err)
	}
	for i := range list.Items {
		if claim := &list.Items[i]; index.Managed(claim) && strings.HasSuffix(claim.Status.ProviderID, "/"+instanceID) {
			return claim.DeepCopy(), nil
		}
	}
	return nil, nil
}
