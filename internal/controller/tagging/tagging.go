// Package tagging puts the names of its node and its NodeClaim on every machine that has joined. The tags serve people and
// their bills; nothing decides on them, so nothing waits for them either.
//
// EC2 sets the same tags on all resources of a call, and these differ from machine to machine, so each machine takes a call.
// They are made side by side, as fast as EC2 takes them: a refusal for their rate slows all of them down.
package tagging

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/cloud"
	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/obs"
)

const (
	// annotation marks a NodeClaim whose machine has its tags.
	annotation = "karpenter.k8s.aws/tagged"
	nameTag    = "Name"

	// workers is how many machines are tagged at a time.
	workers = 20
	// firstRetry and lastRetry bound the pause after a failure, which doubles.
	firstRetry, lastRetry = time.Second, 5 * time.Minute
)

// Tagger is the part of the cloud that the controller needs.
type Tagger interface {
	Tag(ctx context.Context, tags map[string]map[string]string) error
}

// Controller tags the machines of NodeClaims.
type Controller struct {
	Client  client.Client
	Cloud   Tagger
	Metrics *obs.Metrics
	Log     *slog.Logger

	pace pace
}

// Register adds the controller to mgr.
func (c *Controller) Register(mgr ctrl.Manager) error {
	wanted := predicate.NewPredicateFuncs(func(o client.Object) bool {
		claim, ok := o.(*karpv1.NodeClaim)
		return ok && due(claim)
	})
	retry := workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry)
	return ctrl.NewControllerManagedBy(mgr).Named("nodeclaim.tagging").
		For(&karpv1.NodeClaim{}, builder.WithPredicates(wanted)).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers, RateLimiter: retry}).
		Complete(c.Metrics.Guard(c.Log, "nodeclaim.tagging", c))
}

// due reports whether a claim's machine is to be tagged: its node is known, and it was not tagged yet.
func due(claim *karpv1.NodeClaim) bool {
	return claim.DeletionTimestamp.IsZero() && claim.Status.NodeName != "" && claim.Status.ProviderID != "" && claim.Annotations[annotation] != "true"
}

// Reconcile tags the machine of one claim, once.
func (c *Controller) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	claim := &karpv1.NodeClaim{}
	if err := c.Client.Get(ctx, req.NamespacedName, claim); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !index.Managed(claim) || !due(claim) {
		return reconcile.Result{}, nil
	}
	if err := c.pace.wait(ctx); err != nil {
		return reconcile.Result{}, nil //nolint:nilerr // being told to stop is no failure
	}
	err := c.Cloud.Tag(ctx, map[string]map[string]string{claim.Status.ProviderID: c.tags(ctx, claim)})
	c.pace.note(cloud.ClassOf(err) == cloud.Throttled && err != nil)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("tagging machine %s of nodeclaim %q: %w", claim.Status.ProviderID, claim.Name, err)
	}
	tagged := claim.DeepCopy()
	if tagged.Annotations == nil {
		tagged.Annotations = map[string]string{}
	}
	tagged.Annotations[annotation] = "true"
	if err := c.Client.Patch(ctx, tagged, client.MergeFrom(claim)); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(fmt.Errorf("marking nodeclaim %q as tagged: %w", claim.Name, err))
	}
	return reconcile.Result{}, nil
}

// tags are the machine's; a Name that the class gives all its machines stays.
func (c *Controller) tags(ctx context.Context, claim *karpv1.NodeClaim) map[string]string {
	tags := map[string]string{awsv1.TagNodeClaim: claim.Name, nameTag: claim.Status.NodeName}
	class := &awsv1.EC2NodeClass{}
	if err := c.Client.Get(ctx, client.ObjectKey{Name: claim.Spec.NodeClassRef.Name}, class); err != nil {
		return tags // the class is gone; a node's name is better than none
	}
	if _, own := class.Spec.Tags[nameTag]; own {
		delete(tags, nameTag)
	}
	return tags
}
