package terminate

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
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

// settle is the least time between the taint and the end of a drain: the scheduler may bind pods for a moment after the
// taint is set, because it works on a cache of its own.
const settle = 5 * time.Second

// Replacements knows whether pods still wait for the instance that will take them over.
type Replacements interface {
	// AwaitingReplacement reports whether a pod of the node was reserved for no place yet, and whether one is given room on a
	// instance that is not ready yet.
	AwaitingReplacement(node string) (homeless, coming bool)
	// AwaitsTurn reports whether a pod is given room on a node whose turn to take pods has not come.
	AwaitsTurn(pod types.UID) bool
}

// Nodes finalizes Nodes: taint, drain, volumes, instance.
type Nodes struct {
	Client       client.Client
	Cloud        cloud.Provider
	Recorder     record.EventRecorder
	Metrics      *obs.Metrics
	Log          *slog.Logger
	Clock        clock.Clock
	Replacements Replacements
	// Trace may be nil.
	Trace *trace.Tracer

	asks     asks
	permits  permits
	memories sync.Map // of *memory by name of node; a node is worked on by one goroutine at a time
	queue    atomic.Pointer[workqueue.TypedRateLimitingInterface[reconcile.Request]]
}

// Register adds the controller to mgr. What a drain waits for wakes it up: pods and volume attachments that go, budgets that
// free up, deadlines that are written on the claim.
func (n *Nodes) Register(mgr ctrl.Manager, workers int) error {
	return ctrl.NewControllerManagedBy(mgr).Named("node.termination").
		For(&corev1.Node{}).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(n.deletingNodeOfPod)).
		Watches(&storagev1.VolumeAttachment{}, handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
			return n.ifDeleting(ctx, o.(*storagev1.VolumeAttachment).Spec.NodeName)
		})).
		Watches(&karpv1.NodeClaim{}, handler.EnqueueRequestsFromMapFunc(n.deletingNodesOfClaim), builder.WithPredicates(predicate.AnnotationChangedPredicate{})).
		Watches(&policyv1.PodDisruptionBudget{}, n.budgets()).
		WatchesRawSource(source.Func(func(_ context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
			n.queue.Store(&q)
			return nil
		})).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers, RateLimiter: backoff.Between(firstRetry, lastRetry)}).
		Complete(n.Metrics.Guard(n.Log, "node.termination", n))
}

// budgets lets drains go on that waited for a change of a PodDisruptionBudget.
func (n *Nodes) budgets() handler.EventHandler {
	see := func(o client.Object) {
		if b, ok := o.(*policyv1.PodDisruptionBudget); ok {
			n.call(n.permits.see(b, n.Clock.Now())...)
		}
	}
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, _ queue) { see(e.Object) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, _ queue) { see(e.ObjectNew) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, _ queue) {
			if b, ok := e.Object.(*policyv1.PodDisruptionBudget); ok {
				n.call(n.permits.forget(b)...)
			}
		},
	}
}

// call has nodes looked at.
func (n *Nodes) call(names ...string) {
	if q := n.queue.Load(); q != nil {
		for _, name := range names {
			(*q).Add(reconcile.Request{NamespacedName: client.ObjectKey{Name: name}})
		}
	}
}

func (n *Nodes) deletingNodesOfClaim(ctx context.Context, o client.Object) []reconcile.Request {
	claim, ok := o.(*karpv1.NodeClaim)
	if !ok || claim.DeletionTimestamp.IsZero() {
		return nil
	}
	nodes, err := index.NodesOfClaim(ctx, n.Client, claim)
	if err != nil {
		return nil
	}
	var out []reconcile.Request
	for _, node := range nodes {
		if !node.DeletionTimestamp.IsZero() {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKey{Name: node.Name}})
		}
	}
	return out
}

func (n *Nodes) deletingNodeOfPod(ctx context.Context, o client.Object) []reconcile.Request {
	return n.ifDeleting(ctx, o.(*corev1.Pod).Spec.NodeName)
}

func (n *Nodes) ifDeleting(ctx context.Context, name string) []reconcile.Request {
	if name == "" {
		return nil
	}
	node := &corev1.Node{}
	// It is only read, and asked for with every event of a pod.
	if err := n.Client.Get(ctx, client.ObjectKey{Name: name}, node, client.UnsafeDisableDeepCopy); err != nil || node.DeletionTimestamp.IsZero() {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Name: name}}}
}

// Reconcile brings the end of one Node a step further.
func (n *Nodes) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	node := &corev1.Node{}
	if err := n.Client.Get(ctx, req.NamespacedName, node); err != nil {
		if apierrors.IsNotFound(err) {
			n.forget(req.Name)
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if node.DeletionTimestamp.IsZero() || !controllerutil.ContainsFinalizer(node, karpv1.TerminationFinalizer) {
		return reconcile.Result{}, nil
	}
	claims, err := index.ClaimsOfNode(ctx, n.Client, node)
	if err != nil {
		return reconcile.Result{}, err
	}
	if len(claims) == 0 && node.Labels[awsv1.LabelNodeClass] == "" {
		// The finalizer's name is shared by all who speak this API. Without a claim or a node class of ours the node belongs
		// to somebody else.
		return reconcile.Result{}, nil
	}
	var claim *karpv1.NodeClaim
	if len(claims) == 1 {
		claim = claims[0].DeepCopy()
	}
	if claim != nil && claim.DeletionTimestamp.IsZero() {
		if _, err := deadline.Delete(ctx, n.Client, claim); err != nil {
			return reconcile.Result{}, fmt.Errorf("of node %q, which was deleted: %w", node.Name, err)
		}
	}
	instance, lost := n.lookUp(ctx, node)
	if lost {
		n.reportLost(node, claim)
		return reconcile.Result{}, n.release(ctx, node)
	}
	if written, err := n.halted(ctx, claim, instance); err != nil || written {
		return reconcile.Result{}, client.IgnoreNotFound(err) // the event of the write brings the node back
	}
	if err := n.taint(ctx, node); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	return n.wind(ctx, node, claim)
}

// wind drains, waits for volumes and ends the instance, noting each on the claim in one write at most.
func (n *Nodes) wind(ctx context.Context, node *corev1.Node, claim *karpv1.NodeClaim) (reconcile.Result, error) {
	var stored *karpv1.NodeClaim
	if claim != nil {
		stored = claim.DeepCopy()
	}
	after, done, err := n.steps(ctx, node, claim)
	if claim != nil {
		if err := writeConditions(ctx, n.Client, stored, claim); err != nil {
			return reconcile.Result{}, err
		}
		n.sayProgress(ctx, node, stored, claim)
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	if !done {
		// That the instance of a node that is not ready is gone, no event may tell: the node's last word came before.
		if !index.Ready(node) && (after == 0 || after > unseen) {
			after = unseen
		}
		return reconcile.Result{RequeueAfter: after}, nil
	}
	return reconcile.Result{}, n.release(ctx, node)
}

func (n *Nodes) steps(ctx context.Context, node *corev1.Node, claim *karpv1.NodeClaim) (after time.Duration, done bool, err error) {
	// An instance that is ending takes its pods along; those that came to it since are not evicted any more.
	if claim == nil || !claim.StatusConditions().IsTrue(karpv1.ConditionTypeInstanceTerminating) {
		drained, after, err := n.drain(ctx, node, claim)
		if err != nil || !drained {
			return after, false, err
		}
		n.permits.leave(node.Name)
		after, err = n.detach(ctx, node, claim)
		if err != nil || after > 0 {
			return after, false, err
		}
	}
	if node.Spec.ProviderID == "" {
		return 0, true, nil
	}
	outcome, err := n.asks.end(asked(ctx, n.Trace, claim), n.Cloud, n.Clock, node.Spec.ProviderID, claim)
	if err != nil {
		return 0, false, fmt.Errorf("terminating the instance of node %q: %w", node.Name, err)
	}
	return poll, outcome != Ending && outcome != Asked, nil
}

// taint keeps new pods and load balancers off the node.
func (n *Nodes) taint(ctx context.Context, node *corev1.Node) error {
	want := karpv1.DisruptedNoScheduleTaint()
	stored := node.DeepCopy()
	has := slices.IndexFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&want) })
	if has >= 0 && node.Labels[karpv1.ExcludeBalancersLabelKey] == karpv1.ExcludeBalancersLabelValue {
		return nil
	}
	now := n.Clock.Now()
	want.TimeAdded = new(metav1.NewTime(now))
	if has >= 0 {
		if since := node.Spec.Taints[has].TimeAdded; since != nil && since.Time.Before(now) {
			want.TimeAdded = since // the scheduler knows since then
		}
	}
	node.Spec.Taints = slices.DeleteFunc(slices.Clone(node.Spec.Taints), func(t corev1.Taint) bool { return t.Key == want.Key })
	node.Spec.Taints = append(node.Spec.Taints, want)
	if node.Labels == nil {
		node.Labels = map[string]string{}
	}
	node.Labels[karpv1.ExcludeBalancersLabelKey] = karpv1.ExcludeBalancersLabelValue
	if err := n.Client.Patch(ctx, node, client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("tainting node %q: %w", node.Name, err)
	}
	n.Log.InfoContext(ctx, "tainted node", append(story.OfNode(node), "node", node.Name, "taint.Key", want.Key, "taint.Value", want.Value, "taint.Effect", want.Effect)...)
	return nil
}

// forget drops what is remembered of a node that is gone.
func (n *Nodes) forget(node string) {
	n.memories.Delete(node)
	n.permits.leave(node)
}

// release lets the node object go.
func (n *Nodes) release(ctx context.Context, node *corev1.Node) error {
	stored := node.DeepCopy()
	controllerutil.RemoveFinalizer(node, karpv1.TerminationFinalizer)
	if err := n.Client.Patch(ctx, node, client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{})); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("releasing node %q: %w", node.Name, err))
	}
	n.Recorder.Event(node, corev1.EventTypeNormal, events.Finalized, "Finalized "+karpv1.TerminationFinalizer)
	n.forget(node.Name)
	n.asks.forget(node.Spec.ProviderID)
	pool := node.Labels[karpv1.NodePoolLabelKey]
	n.Metrics.NodesTerminated.WithLabelValues(pool, node.Labels[corev1.LabelTopologyZone]).Inc()
	n.Metrics.NodesTermination.WithLabelValues(pool).Observe(n.Clock.Since(node.DeletionTimestamp.Time).Seconds())
	n.Metrics.NodesLifetime.WithLabelValues(pool).Observe(n.Clock.Since(node.CreationTimestamp.Time).Seconds())
	n.Log.InfoContext(ctx, "deleted node", append(story.OfNode(node), "node", node.Name, "after", n.Clock.Since(node.DeletionTimestamp.Time))...)
	return nil
}
