// Package garbagecollection makes instances and NodeClaims agree: an instance without a claim is terminated, a claim whose instance is
// gone is deleted. Both are judged with patience, because either side may only be late.
package garbagecollection

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/deadline"
	"github.com/kerf-sh/kerf/internal/controller/events"
	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/controller/story"
	"github.com/kerf-sh/kerf/internal/controller/terminate"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

const (
	// grace is how long an instance must be seen without a claim before it is terminated.
	grace = 30 * time.Second
	// longestDrain is how long pods of a node without a claim are evicted before its instance ends under those that are left: nobody
	// may own an instance for three minutes (docs/reliability.md).
	longestDrain = 90 * time.Second
	// visible is how long after its launch an instance may be missing from the cloud's list.
	visible = time.Minute
	// eager and lazy are the periods of the loop in its first rounds and later.
	eager, lazy = 10 * time.Second, 2 * time.Minute
	// eagerRounds is how many rounds are eager: what a crash left behind is found soon after the start.
	eagerRounds = 20
)

// Collector is the loop.
type Collector struct {
	Client    client.Client
	APIReader client.Reader
	Cloud     cloud.Provider
	Recorder  record.EventRecorder
	Metrics   *obs.Metrics
	Log       *slog.Logger
	Clock     clock.Clock

	// unclaimed notes since when an instance has been seen without a claim, by provider ID.
	unclaimed map[string]time.Time
	// forced tells of a claim that is gone though Kerf has not ended its instance; nil without Watch.
	forced chan struct{}
}

// NeedLeaderElection makes the manager start the loop on the leader only.
func (c *Collector) NeedLeaderElection() bool { return true }

// Start runs the loop until ctx ends.
func (c *Collector) Start(ctx context.Context) error {
	for round, failures := 0, 0; ; {
		err := c.Metrics.Recover(c.Log, "garbage", func() error { return c.Round(ctx) })
		if err != nil && ctx.Err() == nil {
			c.Log.Error("comparing instances with nodeclaims failed; it is tried again", "error", err)
			failures++
		} else {
			round, failures = round+1, 0
		}
		period := lazy
		switch {
		case failures > 0: // what nobody has looked for may be there
			period = min(eager<<min(failures-1, 5), lazy)
		case round < eagerRounds || len(c.unclaimed) > 0:
			period = eager
		}
		due := c.Clock.After(period)
		select {
		case <-ctx.Done():
			return nil
		case <-due:
		case <-c.forced:
			// No sooner than eager rounds come: many claims may go at once.
			select {
			case <-ctx.Done():
				return nil
			case <-due:
			case <-c.Clock.After(eager):
			}
		}
	}
}

// Round compares once, with the claims that the informer holds. The API is asked for them only in a round that is about to
// terminate an instance: the informer may lag behind it.
func (c *Collector) Round(ctx context.Context) error {
	// The instances are read before the claims: an instance that comes after the list is not judged by it.
	instances, err := c.Cloud.List(ctx, time.Second)
	if err != nil {
		return fmt.Errorf("listing instances: %w", err)
	}
	var claims karpv1.NodeClaimList
	// They are only read here; deletions and events work on copies.
	if err := c.Client.List(ctx, &claims, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing nodeclaims: %w", err)
	}
	return errors.Join(c.instances(ctx, instances, claims.Items), c.claims(ctx, instances, claims.Items))
}

// without are the running instances that no claim stands for.
func without(instances []*cloud.Instance, claims []karpv1.NodeClaim) []*cloud.Instance {
	known := make(map[string]bool, len(claims))
	for i := range claims {
		known[claims[i].Status.ProviderID] = true
	}
	var out []*cloud.Instance
	for _, m := range instances {
		if !known[m.ProviderID] && m.State != "shutting-down" && m.State != "terminated" && !mayBelong(m, claims) {
			out = append(out, m)
		}
	}
	return out
}

// instances terminates what no claim stands for.
func (c *Collector) instances(ctx context.Context, instances []*cloud.Instance, claims []karpv1.NodeClaim) error {
	now := c.Clock.Now()
	still := map[string]time.Time{}
	var due []*cloud.Instance
	for _, m := range without(instances, claims) {
		since, ok := c.unclaimed[m.ProviderID]
		if !ok {
			since = now
		}
		still[m.ProviderID] = since
		if now.Sub(since) >= grace {
			due = append(due, m)
		}
	}
	c.unclaimed = still
	if len(due) == 0 {
		return nil
	}
	var live karpv1.NodeClaimList
	if err := c.APIReader.List(ctx, &live); err != nil {
		return fmt.Errorf("listing nodeclaims before instances without one are terminated: %w", err)
	}
	var errs []error
	for _, m := range without(due, live.Items) {
		if drains, err := c.drained(ctx, m.ProviderID); err != nil || drains {
			errs = append(errs, err)
			continue
		}
		c.Log.Info("terminating an instance without a nodeclaim", "provider_id", m.ProviderID, "instance_type", m.InstanceType, "claim_tag", m.Claim, "launched_at", m.LaunchedAt)
		if _, err := (terminate.Terminator{Cloud: c.Cloud, Clock: c.Clock}).End(ctx, m.ProviderID, nil); err != nil {
			errs = append(errs, fmt.Errorf("terminating instance %s without a nodeclaim: %w", m.ProviderID, err))
			continue
		}
		delete(still, m.ProviderID)
		errs = append(errs, c.deleteNode(ctx, m.ProviderID))
	}
	return errors.Join(errs...)
}

// drained begins the end of an instance that is a Ready node with Kerf's finalizer, and reports whether it is one: its pods are moved
// as from any other for a while, and then it is terminated. Its claim may have lost its finalizers by hand, or all claims with their CRD.
func (c *Collector) drained(ctx context.Context, providerID string) (bool, error) {
	nodes, err := c.nodesOf(ctx, providerID)
	if err != nil {
		return false, err
	}
	for i := range nodes {
		node := &nodes[i]
		// The label is how package terminate knows a node of Kerf's without a claim.
		if !index.Ready(node) || node.Labels[awsv1.LabelNodeClass] == "" || !controllerutil.ContainsFinalizer(node, karpv1.TerminationFinalizer) {
			continue
		}
		if !node.DeletionTimestamp.IsZero() && c.Clock.Since(node.DeletionTimestamp.Time) >= longestDrain {
			return false, nil
		}
		if node.DeletionTimestamp.IsZero() {
			c.Log.Info("draining a node whose nodeclaim is gone", "node", node.Name, "provider_id", providerID)
			if err := c.Client.Delete(ctx, node, client.Preconditions{UID: &node.UID}); client.IgnoreNotFound(err) != nil {
				return true, fmt.Errorf("deleting node %q, whose nodeclaim is gone: %w", node.Name, err)
			}
		}
		return true, nil
	}
	return false, nil
}

func (c *Collector) nodesOf(ctx context.Context, providerID string) ([]corev1.Node, error) {
	var nodes corev1.NodeList
	if err := c.Client.List(ctx, &nodes, client.MatchingFields{index.NodeProviderID: providerID}); err != nil {
		return nil, fmt.Errorf("listing nodes of instance %s: %w", providerID, err)
	}
	return nodes.Items, nil
}

// mayBelong reports whether a claim that does not know its instance yet may be the one that launched m: it was there when m
// was launched, and is of m's pool, or m's tag names it.
func mayBelong(m *cloud.Instance, claims []karpv1.NodeClaim) bool {
	return slices.ContainsFunc(claims, func(claim karpv1.NodeClaim) bool {
		if claim.Status.ProviderID != "" || !claim.DeletionTimestamp.IsZero() {
			return false
		}
		if m.Claim != "" {
			return m.Claim == claim.Name
		}
		// Clocks of the two APIs may differ by a few seconds.
		return claim.Labels[karpv1.NodePoolLabelKey] == m.Pool && !claim.CreationTimestamp.After(m.LaunchedAt.Add(10*time.Second))
	})
}

func (c *Collector) deleteNode(ctx context.Context, providerID string) error {
	nodes, err := c.nodesOf(ctx, providerID)
	if err != nil {
		return err
	}
	var errs []error
	for i := range nodes {
		if err := c.Client.Delete(ctx, &nodes[i], client.Preconditions{UID: &nodes[i].UID}); client.IgnoreNotFound(err) != nil {
			errs = append(errs, fmt.Errorf("deleting node %q of a terminated instance: %w", nodes[i].Name, err))
		}
	}
	return errors.Join(errs...)
}

// claims deletes claims whose instance is gone for good.
func (c *Collector) claims(ctx context.Context, instances []*cloud.Instance, claims []karpv1.NodeClaim) error {
	alive := map[string]bool{}
	for _, m := range instances {
		alive[m.ProviderID] = m.State != "terminated" && m.State != "shutting-down"
	}
	var errs []error
	for i := range claims {
		claim := &claims[i]
		launched := claim.StatusConditions().Get(karpv1.ConditionTypeLaunched)
		if !claim.DeletionTimestamp.IsZero() || !index.Managed(claim) || claim.Status.ProviderID == "" || alive[claim.Status.ProviderID] ||
			!launched.IsTrue() || c.Clock.Since(launched.LastTransitionTime.Time) < visible {
			continue
		}
		errs = append(errs, c.claim(ctx, claim))
	}
	return errors.Join(errs...)
}

func (c *Collector) claim(ctx context.Context, claim *karpv1.NodeClaim) error {
	// The list may have been partial; only a direct question decides.
	why, malformed := "", false
	if m, err := c.Cloud.Get(ctx, claim.Status.ProviderID); err == nil && m.State != "shutting-down" {
		return nil
	} else if err != nil && !cloud.IsNotFound(err) {
		return fmt.Errorf("reading instance %s of nodeclaim %q: %w", claim.Status.ProviderID, claim.Name, err)
	} else if err != nil {
		why, malformed = ": "+err.Error(), errors.Is(err, cloud.ErrProviderID)
	}
	nodes, err := index.NodesOfClaim(ctx, c.Client, claim)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(nodes, index.Ready) {
		return nil
	}
	claim = claim.DeepCopy()
	if malformed {
		c.Recorder.Eventf(claim, corev1.EventTypeWarning, events.ProviderIDInvalid, "status.providerID is %q, which names no instance (it is written aws:///zone/i-…): the NodeClaim is deleted", claim.Status.ProviderID)
	} else {
		c.Recorder.Eventf(claim, corev1.EventTypeWarning, events.InstanceGone, "instance %s no longer exists; it was not Kerf that ended it%s", claim.Status.ProviderID, why)
	}
	if _, err := deadline.Delete(ctx, c.Client, claim); err != nil {
		return fmt.Errorf("ending a nodeclaim whose instance is gone: %w", err)
	}
	c.Metrics.NodeClaimsDisrupted.WithLabelValues("garbage_collected", claim.Labels[karpv1.NodePoolLabelKey], claim.Labels[karpv1.CapacityTypeLabelKey], "", "graceful").Inc()
	c.Log.Info("deleted a nodeclaim whose instance is gone", append(story.Of(claim), "nodeclaim", claim.Name, "provider_id", claim.Status.ProviderID)...)
	return nil
}
