package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/api/status"
	"github.com/kerf-sh/kerf/internal/controller/deadline"
	"github.com/kerf-sh/kerf/internal/controller/events"
	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/controller/story"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

func asCloud(err error) (*cloud.Error, bool) { return errors.AsType[*cloud.Error](err) }

// begin notes that this process tries to launch the claim, the first time it is called. A claim that no process has tried has
// the whole launch timeout from now. That of a claim that another process has tried in vain goes on: it counts from the claim's
// creation, or controllers that restart more often than the timeout would never give it up.
func (m *memory) begin(claim *karpv1.NodeClaim, now time.Time) {
	if !m.begun.IsZero() {
		return
	}
	m.begun, m.since = now, now
	if claim.StatusConditions().Get(karpv1.ConditionTypeLaunched).Reason != status.ReasonAwaitingReconciliation {
		m.since = claim.CreationTimestamp.Time
	}
}

// deadline is when the claim is given up, if it still waits for a step that has one. The first launch that this process asks for
// has the whole time to be answered, however old the claim: an instance that is terminated at once serves nobody.
func (c *Controller) deadline(claim *karpv1.NodeClaim) (time.Time, bool) {
	conditions := claim.StatusConditions()
	if launched := conditions.Get(karpv1.ConditionTypeLaunched); !launched.IsTrue() {
		known := c.remember(claim)
		from := known.since
		if known.launching != nil && known.failures == 0 {
			from = known.begun
		}
		return from.Add(c.LaunchTimeout), true
	} else if !conditions.IsTrue(karpv1.ConditionTypeRegistered) {
		return launched.LastTransitionTime.Add(c.RegistrationTimeout), true
	}
	return time.Time{}, false
}

// expired deletes a claim whose deadline has passed, telling why and what to look at, and reports whether it did.
func (c *Controller) expired(ctx context.Context, claim *karpv1.NodeClaim) bool {
	deadline, ok := c.deadline(claim)
	if !ok || c.Clock.Now().Before(deadline) {
		return false
	}
	reason, event := "launch_timeout", events.LaunchTimeout
	var message string
	conditions := claim.StatusConditions()
	if conditions.IsTrue(karpv1.ConditionTypeLaunched) {
		reason, event = "registration_timeout", events.RegistrationTimeout
		message = fmt.Sprintf("instance %s was launched, but no node with this provider ID registered within %s. %sCheck the instance's console output, its user data "+
			"(cluster name, endpoint, certificate authority), the node role's access to the cluster, and the subnet's route to the API server", claim.Status.ProviderID, c.RegistrationTimeout, c.examined(ctx, claim))
	} else {
		launched := conditions.Get(karpv1.ConditionTypeLaunched)
		message = fmt.Sprintf("no instance could be launched within %s; last failure: %s %s", c.LaunchTimeout, launched.Reason, launched.Message)
	}
	if err := c.giveUp(ctx, claim, reason, message); err != nil {
		c.Log.Error("giving up a nodeclaim failed; it is tried again", append(story.Of(claim), "nodeclaim", claim.Name, "reason", reason, "error", err)...)
		return false
	}
	if c.Pools != nil {
		c.Pools.Registered(claim, false)
	}
	c.Recorder.Event(claim, corev1.EventTypeWarning, event, message)
	return true
}

// giveUp deletes a claim that can't become a node; its pods are looked at anew.
func (c *Controller) giveUp(ctx context.Context, claim *karpv1.NodeClaim, reason, message string) error {
	if _, err := deadline.Delete(ctx, c.Client, claim); err != nil {
		return fmt.Errorf("giving up (%s): %w", reason, err)
	}
	c.Metrics.NodeClaimsDisrupted.WithLabelValues(reason, claim.Labels[karpv1.NodePoolLabelKey], claim.Labels[karpv1.CapacityTypeLabelKey], "", index.TerminationMode(claim)).Inc()
	c.Log.Warn("gave up nodeclaim; its pods are decided on again", append(story.Of(claim), "nodeclaim", claim.Name, "reason", reason, "why", message)...)
	return nil
}
