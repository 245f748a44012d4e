// Package terminate takes instances away without losing pods: it is behind the finalizer of NodeClaims and of Nodes.
//
//	NodeClaim deleted ──▶ its Node is deleted ──▶ taint ─▶ drain ─▶ volumes detached ─▶ instance terminated ─▶ Node gone
//	                                                                                         └─▶ NodeClaim gone
//
// A Node that is deleted by hand deletes its NodeClaim first and goes the same way. All state is on the objects, so that
// any leader can go on where another one stopped.
package terminate

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/backoff"
	"github.com/kerf-sh/kerf/internal/controller/deadline"
	"github.com/kerf-sh/kerf/internal/controller/events"
	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/controller/story"
	"github.com/kerf-sh/kerf/internal/state/cloud"
	"github.com/kerf-sh/kerf/internal/trace"
)

// poll is how often an instance that is shutting down is asked about.
const poll = 2 * time.Second

// firstRetry and lastRetry bound the pause after a failure, which doubles. The time of a drain may be short: a spot instance has two
// minutes.
const firstRetry, lastRetry = 100 * time.Millisecond, 10 * time.Second

// Claims finalizes NodeClaims.
type Claims struct {
	Client   client.Client
	Cloud    cloud.Provider
	Recorder record.EventRecorder
	Metrics  *obs.Metrics
	Log      *slog.Logger
	Clock    clock.Clock
	// Trace may be nil.
	Trace *trace.Tracer

	asks asks
}

// Register adds the controller to mgr.
func (c *Claims) Register(mgr ctrl.Manager, workers int) error {
	return ctrl.NewControllerManagedBy(mgr).Named("nodeclaim.termination").
		For(&karpv1.NodeClaim{}).
		Watches(&corev1.Node{}, index.NodeToClaims(mgr.GetClient()), builder.WithPredicates(index.MoreThanAlive())).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers, RateLimiter: backoff.Between(firstRetry, lastRetry)}).
		Complete(c.Metrics.Guard(c.Log, "nodeclaim.termination", c))
}

// Reconcile brings the end of one NodeClaim a step further.
func (c *Claims) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	claim := &karpv1.NodeClaim{}
	if err := c.Client.Get(ctx, req.NamespacedName, claim); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if claim.DeletionTimestamp.IsZero() || !index.Managed(claim) || !controllerutil.ContainsFinalizer(claim, karpv1.TerminationFinalizer) {
		return reconcile.Result{}, nil
	}
	if _, ok := deadline.Of(claim); !ok && claim.Annotations[karpv1.NodeClaimTerminationTimestampAnnotationKey] != "" {
		c.Recorder.Eventf(claim, corev1.EventTypeWarning, events.TerminationTimestampIgnored, "its annotation %s is %q, which is no time such as 2026-01-02T15:04:05Z: it is ignored, and terminationGracePeriod holds",
			karpv1.NodeClaimTerminationTimestampAnnotationKey, claim.Annotations[karpv1.NodeClaimTerminationTimestampAnnotationKey])
	}
	switch written, err := deadline.Stamp(ctx, c.Client, claim); {
	case err != nil:
		return reconcile.Result{}, client.IgnoreNotFound(err)
	case !written.IsZero():
		index.Tell(ctx, c.Client, c.Recorder, claim, corev1.EventTypeWarning, events.TerminationGracePeriodExpiring, "pods that are still on the node at "+written.UTC().Format(time.RFC3339)+" will be deleted")
		return reconcile.Result{}, nil // the event of the write brings the claim back
	}
	wait, err := c.deleteNodes(ctx, claim)
	if err != nil || wait {
		return reconcile.Result{}, err
	}
	if claim.Status.ProviderID == "" {
		if wait, err := c.find(ctx, claim); err != nil || wait {
			return reconcile.Result{RequeueAfter: poll}, err
		}
	}
	if claim.Status.ProviderID != "" {
		stored := claim.DeepCopy()
		outcome, err := c.asks.end(asked(ctx, c.Trace, claim), c.Cloud, c.Clock, claim.Status.ProviderID, claim)
		switch {
		case err != nil:
			return reconcile.Result{}, fmt.Errorf("terminating the instance of nodeclaim %q: %w", claim.Name, err)
		case outcome == Asked:
			return reconcile.Result{RequeueAfter: poll}, nil
		case outcome == Ending:
			switch err := writeConditions(ctx, c.Client, stored, claim); {
			case err == nil && !stored.StatusConditions().IsTrue(karpv1.ConditionTypeInstanceTerminating):
				c.Log.InfoContext(ctx, "terminating instance", append(story.Of(claim), "nodeclaim", claim.Name, "provider_id", claim.Status.ProviderID)...)
			case err != nil && !apierrors.IsConflict(err):
				return reconcile.Result{}, err
			}
			return reconcile.Result{RequeueAfter: poll}, nil
		case outcome == NoneNamed:
			c.Recorder.Eventf(claim, corev1.EventTypeWarning, events.ProviderIDInvalid, "status.providerID is %q, which names no instance: none was terminated through it. If an instance was launched for this NodeClaim, it is found by its tags and terminated within minutes", claim.Status.ProviderID)
		}
	}
	return reconcile.Result{}, c.finish(ctx, claim)
}

// find writes down the instance of a claim that was deleted before its launch was: the process that launched it died in
// between. wait is that it is not known yet whether there is one.
func (c *Claims) find(ctx context.Context, claim *karpv1.NodeClaim) (wait bool, err error) {
	short, cancel := context.WithTimeout(ctx, prompt)
	defer cancel()
	instance, err := c.Cloud.Find(short, claim)
	switch {
	case cloud.IsNotFound(err):
		return false, nil
	case err != nil && short.Err() != nil:
		return true, nil
	case err != nil:
		return false, fmt.Errorf("looking for the instance of nodeclaim %q, which was deleted before it had one: %w", claim.Name, err)
	}
	stored := claim.DeepCopy()
	claim.Status.ProviderID = instance.ProviderID
	if err := c.Client.Status().Patch(ctx, claim, client.MergeFrom(stored)); client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("writing the instance of nodeclaim %q, which was deleted before it had one: %w", claim.Name, err)
	}
	c.Log.Info("ending the instance of a nodeclaim that was deleted before its launch was written down", append(story.Of(claim), "nodeclaim", claim.Name, "provider_id", instance.ProviderID)...)
	return false, nil
}

// deleteNodes deletes the nodes of the claim and reports whether one of them is still there: those of a registered claim,
// and any that bears Kerf's finalizer. Others are left to the cloud controller manager: Kerf never gave them pods.
func (c *Claims) deleteNodes(ctx context.Context, claim *karpv1.NodeClaim) (wait bool, err error) {
	nodes, err := index.NodesOfClaim(ctx, c.Client, claim)
	if err != nil {
		return false, err
	}
	registered := claim.StatusConditions().IsTrue(karpv1.ConditionTypeRegistered)
	for _, node := range nodes {
		if !registered && !controllerutil.ContainsFinalizer(node, karpv1.TerminationFinalizer) {
			continue
		}
		wait = true
		if node.DeletionTimestamp.IsZero() {
			if err := c.Client.Delete(ctx, node.DeepCopy(), client.Preconditions{UID: &node.UID}); client.IgnoreNotFound(err) != nil {
				return false, fmt.Errorf("deleting node %q of nodeclaim %q: %w", node.Name, claim.Name, err)
			}
		}
	}
	return wait, nil
}

// writeConditions writes the conditions of a claim where they differ from those that are stored.
//
// Errors: a conflict where the claim was changed since it was read.
func writeConditions(ctx context.Context, c client.Client, stored, claim *karpv1.NodeClaim) error {
	if slices.Equal(stored.Status.Conditions, claim.Status.Conditions) {
		return nil
	}
	if err := c.Status().Patch(ctx, claim, client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{})); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("writing the status of nodeclaim %q: %w", claim.Name, err)
	}
	return nil
}

func (c *Claims) finish(ctx context.Context, claim *karpv1.NodeClaim) error {
	stored := claim.DeepCopy()
	claim = claim.DeepCopy()
	controllerutil.RemoveFinalizer(claim, karpv1.TerminationFinalizer)
	if err := c.Client.Patch(ctx, claim, client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{})); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("releasing nodeclaim %q: %w", claim.Name, err))
	}
	c.Recorder.Event(claim, corev1.EventTypeNormal, events.Finalized, "Finalized "+karpv1.TerminationFinalizer)
	pool := claim.Labels[karpv1.NodePoolLabelKey]
	took := c.Clock.Since(claim.DeletionTimestamp.Time)
	c.Metrics.NodeClaimsTerminated.WithLabelValues(pool, claim.Labels[karpv1.CapacityTypeLabelKey], claim.Labels[corev1.LabelTopologyZone]).Inc()
	c.Metrics.ClaimTermination.WithLabelValues(pool).Observe(took.Seconds())
	if cond := claim.StatusConditions().Get(karpv1.ConditionTypeInstanceTerminating); cond.IsTrue() {
		c.Metrics.InstanceTermination.WithLabelValues(pool).Observe(c.Clock.Since(cond.LastTransitionTime.Time).Seconds())
	}
	c.Log.InfoContext(ctx, "deleted nodeclaim", append(story.Of(claim), "nodeclaim", claim.Name, "provider_id", claim.Status.ProviderID, "node", claim.Status.NodeName, "after", took)...)
	c.ended(ctx, claim)
	return nil
}
