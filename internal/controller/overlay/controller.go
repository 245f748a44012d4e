// Package overlay evaluates NodeOverlays: which of them make sense, which contradict each other, and which are in use.
package overlay

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/api/karpenter/v1alpha1"
	"github.com/kerf-sh/kerf/internal/controller/backoff"
	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

const (
	// period is how often all is evaluated though nothing changed: instance types come and go.
	period = 6 * time.Hour
	// retry is how soon a pool is tried again whose types could not be had.
	retry = 10 * time.Second
)

// Types lists the instance types of a node class, without overlays.
type Types interface {
	Types(ctx context.Context, class *awsv1.EC2NodeClass) ([]*catalog.Type, error)
}

// Store takes the outcome.
type Store interface {
	Set(overlays []catalog.Overlay, pools map[string]map[string]string) bool
}

// Controller evaluates all overlays whenever one of them, a NodePool or a node class changes.
type Controller struct {
	Client  client.Client
	Types   Types
	Store   Store
	Changed func() // called when pods should be looked at again; nil: nobody
	Metrics *obs.Metrics
	Log     *slog.Logger
	Clock   clock.Clock

	judge judge // there is one worker
}

// all is the one thing to reconcile: overlays can only be judged together.
var all = []reconcile.Request{{NamespacedName: client.ObjectKey{Name: "all"}}}

// Register adds the controller to mgr.
func (c *Controller) Register(mgr ctrl.Manager) error {
	whole := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request { return all })
	changed := builder.WithPredicates(predicate.GenerationChangedPredicate{})
	return ctrl.NewControllerManagedBy(mgr).Named("nodeoverlay").
		Watches(&v1alpha1.NodeOverlay{}, whole, changed).
		Watches(&karpv1.NodePool{}, whole, changed).
		// Its types are known once it is resolved, which is no change of its generation.
		Watches(&awsv1.EC2NodeClass{}, whole, builder.WithPredicates(predicate.ResourceVersionChangedPredicate{})).
		WithOptions(controller.Options{RateLimiter: backoff.Usual()}).
		Complete(c.Metrics.Guard(c.Log, "nodeoverlay", c))
}

// Reconcile evaluates everything together. A pool whose types can't be had now takes part without them: its overlays are in
// use, only their contradictions can't be seen yet, so it is tried again soon.
func (c *Controller) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	var list v1alpha1.NodeOverlayList
	if err := c.Client.List(ctx, &list); err != nil {
		return reconcile.Result{}, fmt.Errorf("listing nodeoverlays: %w", err)
	}
	pools, complete, err := c.pools(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	used, verdicts := c.judge.of(list.Items, pools)
	labels := map[string]map[string]string{}
	for name, p := range pools {
		labels[name] = p.labels
	}
	if c.Store.Set(used, labels) && c.Changed != nil {
		c.Changed()
	}
	for i := range list.Items {
		if err := c.report(ctx, &list.Items[i], verdicts[i]); err != nil {
			return reconcile.Result{}, err
		}
	}
	if !complete {
		return reconcile.Result{RequeueAfter: retry}, nil
	}
	return reconcile.Result{RequeueAfter: period}, nil
}

func (c *Controller) pools(ctx context.Context) (map[string]evaluated, bool, error) {
	var pools karpv1.NodePoolList
	if err := c.Client.List(ctx, &pools); err != nil {
		return nil, false, fmt.Errorf("listing nodepools: %w", err)
	}
	out, complete := map[string]evaluated{}, true
	for i := range pools.Items {
		pool := &pools.Items[i]
		if !index.ManagedPool(pool) {
			continue
		}
		e := evaluated{labels: intake.PoolLabels(pool)}
		class := &awsv1.EC2NodeClass{}
		err := c.Client.Get(ctx, client.ObjectKey{Name: pool.Spec.Template.Spec.NodeClassRef.Name}, class)
		if client.IgnoreNotFound(err) != nil {
			return nil, false, fmt.Errorf("reading the node class of nodepool %q: %w", pool.Name, err)
		}
		if err == nil && class.StatusConditions(false).IsTrue(awsv1.ConditionTypeSubnetsReady) {
			if e.types, err = c.Types.Types(ctx, class); err != nil {
				c.Log.Debug("nodeoverlays can't be compared on the types of a nodepool yet", "nodepool", pool.Name, "error", err)
				complete = false
			}
		}
		out[pool.Name] = e
	}
	return out, complete, nil
}

func (c *Controller) report(ctx context.Context, stored *v1alpha1.NodeOverlay, v verdict) error {
	if stored.DeletionTimestamp != nil {
		return nil
	}
	o := stored.DeepCopy()
	conditions := o.StatusConditions().WithClock(c.Clock.Now)
	if v.reason == "" {
		conditions.SetTrue(v1alpha1.ConditionTypeValidationSucceeded)
	} else {
		conditions.SetFalse(v1alpha1.ConditionTypeValidationSucceeded, v.reason, v.message)
	}
	if equality.Semantic.DeepEqual(stored.Status, o.Status) {
		return nil
	}
	if err := c.Client.Status().Patch(ctx, o, client.MergeFrom(stored)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("writing the status of nodeoverlay %q: %w", o.Name, err)
	}
	return nil
}
