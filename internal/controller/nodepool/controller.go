// Package nodepool keeps what a NodePool says about itself true: its hash, whether it is valid, whether its node class is
// ready, how launches go, and how much its nodes hold. One pass works all of it out and writes one patch.
package nodepool

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/obs"
)

// settle collects the changes of a burst of NodeClaims into one write of the pool's counts.
const settle = time.Second

// Controller reconciles NodePools.
type Controller struct {
	Client  client.Client
	Metrics *obs.Metrics
	Log     *slog.Logger
	Clock   clock.Clock
	Health  *Health
}

// Register adds the controller to mgr.
func (c *Controller) Register(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).Named("nodepool").
		For(&karpv1.NodePool{}).
		Watches(&karpv1.NodeClaim{}, later(func(o client.Object) []string { return []string{o.GetLabels()[karpv1.NodePoolLabelKey]} })).
		Watches(&awsv1.EC2NodeClass{}, handler.EnqueueRequestsFromMapFunc(c.poolsOfClass)).
		Complete(c.Metrics.Guard(c.Log, "nodepool", c))
}

// later enqueues the named objects after settle; a name that already waits is not added again.
func later(names func(client.Object) []string) handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	add := func(o client.Object, q queue) {
		for _, name := range names(o) {
			if name != "" {
				q.AddAfter(reconcile.Request{NamespacedName: client.ObjectKey{Name: name}}, settle)
			}
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) { add(e.Object, q) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) { add(e.ObjectNew, q) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) { add(e.Object, q) },
	}
}

func (c *Controller) poolsOfClass(ctx context.Context, o client.Object) []reconcile.Request {
	var pools karpv1.NodePoolList
	if err := c.Client.List(ctx, &pools); err != nil {
		return nil
	}
	var out []reconcile.Request
	for i := range pools.Items {
		if p := &pools.Items[i]; index.ManagedPool(p) && p.Spec.Template.Spec.NodeClassRef.Name == o.GetName() {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKey{Name: p.Name}})
		}
	}
	return out
}

// Reconcile brings the annotations and the status of one NodePool up to date.
func (c *Controller) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	stored := &karpv1.NodePool{}
	if err := c.Client.Get(ctx, req.NamespacedName, stored); err != nil {
		if apierrors.IsNotFound(err) {
			c.forget(req.Name)
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !index.ManagedPool(stored) {
		return reconcile.Result{}, nil
	}
	claims, err := c.claims(ctx, stored.Name)
	if err != nil {
		return reconcile.Result{}, err
	}
	if err := c.stamp(ctx, stored, claims); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	pool := stored.DeepCopy()
	conditions := pool.StatusConditions().WithClock(c.Clock.Now)
	conditions.Initialize()
	c.validate(pool)
	if err := c.classReady(ctx, pool); err != nil {
		return reconcile.Result{}, err
	}
	if err := c.count(ctx, pool, claims); err != nil {
		return reconcile.Result{}, err
	}
	c.Health.write(pool, c.Clock.Now)
	if equality.Semantic.DeepEqual(stored.Status, pool.Status) {
		return reconcile.Result{}, nil
	}
	if err := c.Client.Status().Patch(ctx, pool, client.MergeFrom(stored)); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(fmt.Errorf("writing the status of nodepool %q: %w", pool.Name, err))
	}
	return reconcile.Result{}, nil
}

func (c *Controller) claims(ctx context.Context, pool string) ([]karpv1.NodeClaim, error) {
	var list karpv1.NodeClaimList
	if err := c.Client.List(ctx, &list, client.MatchingLabels{karpv1.NodePoolLabelKey: pool}); err != nil {
		return nil, fmt.Errorf("listing nodeclaims of nodepool %q: %w", pool, err)
	}
	return list.Items, nil
}

// stamp writes the template's hash on the pool. When the way of hashing has changed since the pool was stamped, its
// claims adopt the new hash first, except those that are drifted already: a new release must not roll nodes, nor forget
// a roll that is due.
func (c *Controller) stamp(ctx context.Context, pool *karpv1.NodePool, claims []karpv1.NodeClaim) error {
	hash := pool.Hash()
	if was := pool.Annotations[karpv1.NodePoolHashVersionAnnotationKey]; was != "" && was != karpv1.NodePoolHashVersion {
		for i := range claims {
			if err := c.restamp(ctx, &claims[i], hash); err != nil {
				return err
			}
		}
	}
	if pool.Annotations[karpv1.NodePoolHashAnnotationKey] == hash && pool.Annotations[karpv1.NodePoolHashVersionAnnotationKey] == karpv1.NodePoolHashVersion {
		return nil
	}
	base := pool.DeepCopy()
	if pool.Annotations == nil {
		pool.Annotations = map[string]string{}
	}
	pool.Annotations[karpv1.NodePoolHashAnnotationKey] = hash
	pool.Annotations[karpv1.NodePoolHashVersionAnnotationKey] = karpv1.NodePoolHashVersion
	if err := c.Client.Patch(ctx, pool, client.MergeFrom(base)); err != nil {
		return fmt.Errorf("stamping nodepool %q: %w", pool.Name, err)
	}
	return nil
}

func (c *Controller) restamp(ctx context.Context, claim *karpv1.NodeClaim, hash string) error {
	if claim.Annotations[karpv1.NodePoolHashVersionAnnotationKey] == karpv1.NodePoolHashVersion {
		return nil
	}
	base := claim.DeepCopy()
	if claim.Annotations == nil {
		claim.Annotations = map[string]string{}
	}
	claim.Annotations[karpv1.NodePoolHashVersionAnnotationKey] = karpv1.NodePoolHashVersion
	if !claim.StatusConditions().IsTrue(karpv1.ConditionTypeDrifted) {
		claim.Annotations[karpv1.NodePoolHashAnnotationKey] = hash
	}
	if err := c.Client.Patch(ctx, claim, client.MergeFrom(base)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("stamping nodeclaim %q: %w", claim.Name, err)
	}
	return nil
}

func (c *Controller) forget(pool string) {
	for _, g := range []*prometheus.GaugeVec{c.Metrics.NodePoolLimit, c.Metrics.NodePoolUsage} {
		g.DeletePartialMatch(prometheus.Labels{"nodepool": pool})
	}
}

// count sums what the pool's machines hold: the node's word where there is one, else what the launch expects.
func (c *Controller) count(ctx context.Context, pool *karpv1.NodePool, claims []karpv1.NodeClaim) error {
	sum := corev1.ResourceList{corev1.ResourceCPU: {}, corev1.ResourceMemory: {}, corev1.ResourcePods: {}, corev1.ResourceEphemeralStorage: {}}
	var nodes int64
	for i := range claims {
		capacity := claims[i].Status.Capacity
		found, err := index.NodesOfClaim(ctx, c.Client, &claims[i])
		if err != nil {
			return err
		}
		if len(found) == 1 && len(found[0].Status.Capacity) > 0 {
			capacity = found[0].Status.Capacity
		}
		for name, q := range capacity {
			total := sum[name]
			total.Add(q)
			sum[name] = total
		}
		nodes++
	}
	for name, q := range sum {
		if q.IsZero() && name != corev1.ResourceCPU && name != corev1.ResourceMemory && name != corev1.ResourcePods && name != corev1.ResourceEphemeralStorage {
			delete(sum, name)
		}
	}
	sum[karpv1.ResourceNodes] = *newCount(nodes)
	if !equality.Semantic.DeepEqual(pool.Status.Resources, sum) {
		pool.Status.Resources = sum
	}
	pool.Status.Nodes = &nodes
	for name, q := range sum {
		c.Metrics.NodePoolUsage.WithLabelValues(string(name), pool.Name).Set(q.AsApproximateFloat64())
	}
	for name, q := range pool.Spec.Limits {
		c.Metrics.NodePoolLimit.WithLabelValues(string(name), pool.Name).Set(q.AsApproximateFloat64())
	}
	return nil
}
