// Package nodepool keeps what a NodePool says about itself true: its hash, whether it is valid, whether its node class is
// ready, how launches go, and how much its nodes hold. One pass works all of it out and writes one patch.
package nodepool

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/backoff"
	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/state/cache"
)

// settle collects the changes of a burst of NodeClaims into one write of the pool's counts.
const settle = time.Second

// Controller reconciles NodePools.
type Controller struct {
	Client client.Client
	State  State
	// Synced reports whether State has taken in the first lists; nil is always.
	Synced  func() bool
	Metrics *obs.Metrics
	Log     *slog.Logger
	Clock   clock.Clock
	Health  *Health
	// Types tells whether anything can be launched for a pool; nil leaves that unsaid.
	Types Types

	verdicts map[string]verdict // by pool; of the one worker

	mu    sync.Mutex
	shown map[series]corev1.ResourceList // which resources the gauges show
}

// series are those of one pool in one gauge.
type series struct {
	gauge *prometheus.GaugeVec
	pool  string
}

// State says what the nodes of NodePools hold; *cache.Cache is one.
type State interface {
	PoolUsage(pool string) (capacity corev1.ResourceList, nodes int64)
	Listen(func(cache.Change))
}

// Register adds the controller to mgr.
func (c *Controller) Register(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).Named("nodepool").
		For(&karpv1.NodePool{}).
		WatchesRawSource(source.Func(c.used)).
		WatchesRawSource(source.Func(c.judged)).
		Watches(&awsv1.EC2NodeClass{}, handler.EnqueueRequestsFromMapFunc(c.poolsOfClass)).
		WithOptions(controller.Options{RateLimiter: backoff.Usual()}).
		Complete(c.Metrics.Guard(c.Log, "nodepool", c))
}

// used enqueues pools whose nodes hold something else than before, after settle; a name that already waits is not added again.
func (c *Controller) used(_ context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	c.State.Listen(func(change cache.Change) {
		if change.Kind == cache.PoolUsed && change.Name != "" {
			q.AddAfter(reconcile.Request{NamespacedName: client.ObjectKey{Name: change.Name}}, settle)
		}
	})
	return nil
}

// judged enqueues pools whose launches go better or worse than their condition says.
func (c *Controller) judged(_ context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	c.Health.listen(func(pool string) {
		q.Add(reconcile.Request{NamespacedName: client.ObjectKey{Name: pool}})
	})
	return nil
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
	if c.Synced != nil && !c.Synced() {
		return reconcile.Result{RequeueAfter: settle}, nil // a count of some of the nodes would be written as that of all
	}
	if err := c.stamp(ctx, stored); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	pool := stored.DeepCopy()
	conditions := pool.StatusConditions().WithClock(c.Clock.Now)
	conditions.Initialize()
	class, err := c.classReady(ctx, pool)
	if err != nil {
		return reconcile.Result{}, err
	}
	c.validate(ctx, pool, stored, class)
	c.budgetsValid(pool)
	c.count(pool)
	c.Health.write(pool, c.Clock.Now)
	again := reconcile.Result{}
	if c.Types != nil {
		again.RequeueAfter = judgeAgain
	}
	if equality.Semantic.DeepEqual(stored.Status, pool.Status) {
		return again, nil
	}
	if err := c.Client.Status().Patch(ctx, pool, client.MergeFrom(stored)); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(fmt.Errorf("writing the status of nodepool %q: %w", pool.Name, err))
	}
	return again, nil
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
func (c *Controller) stamp(ctx context.Context, pool *karpv1.NodePool) error {
	hash := pool.Hash()
	if was := pool.Annotations[karpv1.NodePoolHashVersionAnnotationKey]; was != "" && was != karpv1.NodePoolHashVersion {
		claims, err := c.claims(ctx, pool.Name)
		if err != nil {
			return err
		}
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

// forget drops what is known of a pool that is gone. Its series stay until its last node has gone, for what its nodes still count; the
// pool is reconciled again then.
func (c *Controller) forget(pool string) {
	delete(c.verdicts, pool)
	if c.Health != nil {
		c.Health.forget(pool)
	}
	c.show(c.Metrics.NodePoolLimit, pool, nil)
	c.show(c.Metrics.NodePoolUsage, pool, nil)
	if _, nodes := c.State.PoolUsage(pool); nodes == 0 {
		c.Metrics.Forget(obs.LabelNodePool, pool)
	}
}

// show gives the pool's series of a gauge the amounts of list, and takes away those of resources that are not in it any more.
func (c *Controller) show(gauge *prometheus.GaugeVec, pool string, list corev1.ResourceList) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := series{gauge, pool}
	for name := range c.shown[key] {
		if _, stays := list[name]; !stays {
			gauge.DeleteLabelValues(string(name), pool)
		}
	}
	if len(list) == 0 {
		delete(c.shown, key)
		return
	}
	for name, q := range list {
		gauge.WithLabelValues(string(name), pool).Set(q.AsApproximateFloat64())
	}
	if c.shown == nil {
		c.shown = map[series]corev1.ResourceList{}
	}
	c.shown[key] = list
}

// count writes down what the pool's nodes hold.
func (c *Controller) count(pool *karpv1.NodePool) {
	sum, nodes := c.State.PoolUsage(pool.Name)
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods, corev1.ResourceEphemeralStorage} {
		if _, ok := sum[name]; !ok {
			sum[name] = resource.Quantity{}
		}
	}
	sum[karpv1.ResourceNodes] = *newCount(nodes)
	if !equality.Semantic.DeepEqual(pool.Status.Resources, sum) {
		pool.Status.Resources = sum
	}
	pool.Status.Nodes = &nodes
	c.show(c.Metrics.NodePoolUsage, pool.Name, sum)
	c.show(c.Metrics.NodePoolLimit, pool.Name, corev1.ResourceList(pool.Spec.Limits))
}
