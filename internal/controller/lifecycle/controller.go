// Package lifecycle takes a NodeClaim from its creation to an initialized node: launch, registration, initialization,
// and the timeouts that give up on an instance that never comes.
//
//	created ──launch──▶ Launched ──node joins──▶ Registered ──node ready──▶ Initialized
//	   │                   │
//	   └─launch timeout────┴─registration timeout──▶ deleted
//
// Every pass works out the whole state from the objects and writes at most one patch of each: the writes are what bounds
// a large scale-up. A reason for waiting is written only when the wait is long enough for a person to look.
package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/backoff"
	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/controller/story"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/state/cache"
	"github.com/kerf-sh/kerf/internal/state/cloud"
	"github.com/kerf-sh/kerf/internal/trace"
)

// patience is how long a claim waits for its next step before the reason for the wait is written to its status.
const patience = 10 * time.Second

// reread is how soon a claim is looked at again whose last write the cache has not seen; its event comes first as a rule.
const reread = 50 * time.Millisecond

// PoolHealth learns how launches of a NodePool end.
type PoolHealth interface {
	// Registered is told of every claim whose node registered (true) or was given up (false).
	Registered(claim *karpv1.NodeClaim, ok bool)
}

// Waiting knows since when the pods have waited that a claim is for, and what those have that are there.
type Waiting interface {
	WaitingFor(claim string) (since time.Time, ok bool)
	// ReservedFor are the pods that wait for the claim's node, sorted by name; they must not be changed.
	ReservedFor(claim string) []*corev1.Pod
	// HasDevice reports whether a pod on the node has the resource from a driver for Dynamic Resource Allocation.
	HasDevice(node string, resource corev1.ResourceName) bool
	Listen(func(cache.Change))
}

// memory is what this process knows of a claim beyond its object.
type memory struct {
	uid types.UID
	// instance is what was launched, until the status that says so is seen in the cache: a stale read must not ask again.
	instance *cloud.Instance
	// priced is true when the price of instance has been told and counted.
	priced bool
	// told is true once it is in the log that instance was launched.
	told bool
	// begun is when this process first tried to launch it. since is from when its launch timeout counts.
	begun, since time.Time
	// launching is a launch that was begun and whose outcome has not been taken yet.
	launching *launching
	// written is the resource version of the last write.
	written string
	// failures counts launches that failed in a row; none is tried before retryAt.
	failures int
	retryAt  time.Time
	// looked is when its instance was looked at last while its node had not come.
	looked time.Time
	// lookups counts how often its instance's partition was asked for in vain; it is not asked for before lookupAt.
	lookups  int
	lookupAt time.Time
	// nominating is a round of nominations to its node that was begun and whose end was not seen yet.
	nominating *nominating
	// refusedSince is since when the API has refused to have its launch written; zero when it has not.
	refusedSince time.Time
	// unseenSince is since when nominations have been written that no watch has told of; zero when there are none.
	unseenSince time.Time
}

func (c *Controller) remember(claim *karpv1.NodeClaim) *memory {
	if m, ok := c.memories.Load(claim.Name); ok && m.(*memory).uid == claim.UID {
		return m.(*memory)
	}
	m := &memory{uid: claim.UID}
	c.memories.Store(claim.Name, m)
	return m
}

// Controller reconciles NodeClaims that are not being deleted.
type Controller struct {
	Client   client.Client
	Cloud    cloud.Provider
	Recorder record.EventRecorder
	Metrics  *obs.Metrics
	Log      *slog.Logger
	Clock    clock.Clock
	Pools    PoolHealth
	// Instances may be nil.
	Instances InstanceHealth
	Waiting   Waiting
	// Currency is that of prices; nil: dollars.
	Currency func() catalog.Currency
	// Trace may be nil.
	Trace *trace.Tracer
	// Nominees may be nil: pods are not nominated then. Pods writes their status; it should be a client of its own, whose
	// limits hold up nothing else.
	Nominees Nominees
	Pods     client.StatusClient
	// LaunchTimeout and RegistrationTimeout as in settings.
	LaunchTimeout, RegistrationTimeout time.Duration

	// answers wakes the claims whose launch has been answered. Without it, before Register, launches are waited for.
	answers chan event.GenericEvent
	// memories holds a *memory by claim name. One claim is worked on by one goroutine at a time.
	memories sync.Map
	// nominateFrom is when nominations may be tried again that the API has refused, in nanoseconds since 1970.
	nominateFrom   atomic.Int64
	nominatingOnce sync.Once
	slots          chan struct{} // see nominations
}

// Register adds the controller to mgr.
func (c *Controller) Register(mgr ctrl.Manager, workers int) error {
	b := ctrl.NewControllerManagedBy(mgr).Named("nodeclaim.lifecycle").
		For(&karpv1.NodeClaim{}).
		Watches(&corev1.Node{}, index.NodeToClaims(mgr.GetClient()), builder.WithPredicates(index.MoreThanAlive()))
	c.answers = make(chan event.GenericEvent, 1024)
	b = b.WatchesRawSource(source.Channel(c.answers, &handler.EnqueueRequestForObject{}))
	if c.Waiting != nil {
		b = b.WatchesRawSource(source.Channel(c.podNews(), &handler.EnqueueRequestForObject{}))
	}
	return b.
		WithOptions(controller.Options{MaxConcurrentReconciles: workers, RateLimiter: backoff.Usual()}).
		Complete(c.Metrics.Guard(c.Log, "nodeclaim.lifecycle", c))
}

// Reconcile brings one NodeClaim a step further.
func (c *Controller) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	claim := &karpv1.NodeClaim{}
	if err := c.Client.Get(ctx, req.NamespacedName, claim); err != nil {
		if apierrors.IsNotFound(err) {
			err = c.endUnclaimed(ctx, req.Name)
		}
		return reconcile.Result{}, err
	}
	if !index.Managed(claim) {
		return reconcile.Result{}, nil
	}
	if !claim.DeletionTimestamp.IsZero() {
		if claim.Status.ProviderID == "" {
			return reconcile.Result{}, c.endUnclaimed(ctx, claim.Name)
		}
		c.memories.Delete(claim.Name)
		return reconcile.Result{}, nil
	}
	if c.stale(claim) {
		return reconcile.Result{RequeueAfter: reread}, nil
	}
	stored := claim.DeepCopy()
	claim = claim.DeepCopy()
	if controllerutil.AddFinalizer(claim, karpv1.TerminationFinalizer) {
		// Nothing may be launched for a claim that could vanish without its instance being given back.
		if err := c.Client.Patch(ctx, claim, client.MergeFrom(stored)); err != nil {
			return reconcile.Result{}, client.IgnoreNotFound(fmt.Errorf("adding the finalizer to nodeclaim %q: %w", claim.Name, err))
		}
		stored = claim.DeepCopy()
	}

	next, stepErr := c.steps(ctx, claim)
	if next.deleted {
		return reconcile.Result{}, stepErr
	}
	if next.quiet {
		return reconcile.Result{RequeueAfter: next.after}, stepErr
	}
	if err := c.store(ctx, stored, claim); apierrors.IsNotFound(err) {
		return reconcile.Result{}, c.endUnclaimed(ctx, claim.Name)
	} else if err != nil && !apierrors.IsConflict(err) {
		if c.refused(ctx, stored, claim, err) {
			return reconcile.Result{}, nil // the event of its deletion brings it back, and its instance is ended
		}
		return reconcile.Result{}, err
	} else if err != nil {
		stepErr = err
	} else {
		c.remember(claim).refusedSince = time.Time{}
	}
	if stepErr != nil {
		return reconcile.Result{}, stepErr
	}
	if claim.StatusConditions().IsTrue(karpv1.ConditionTypeInitialized) && !stored.StatusConditions().IsTrue(karpv1.ConditionTypeInitialized) {
		// Said once it is written: a write that lost against another is tried again, some times over in a busy cluster.
		c.Log.InfoContext(ctx, "initialized nodeclaim", append(story.Of(claim), "nodeclaim", claim.Name, "node", claim.Status.NodeName, "after", c.Clock.Since(claim.CreationTimestamp.Time))...)
		c.past(ctx, claim, "nodeclaim.initialize", karpv1.ConditionTypeRegistered)
	}
	return reconcile.Result{RequeueAfter: next.after}, nil
}

// outcome is what a pass of steps asks for next.
type outcome struct {
	deleted bool
	quiet   bool // nothing has happened that is worth a write
	after   time.Duration
}

// steps runs launch, registration, initialization and liveness in order on the in-memory claim.
func (c *Controller) steps(ctx context.Context, claim *karpv1.NodeClaim) (outcome, error) {
	conditions := claim.StatusConditions().WithClock(c.Clock.Now)
	conditions.Initialize()
	written := conditions.IsTrue(karpv1.ConditionTypeLaunched)
	if !written {
		known := c.remember(claim)
		known.begin(claim, c.Clock.Now())
		if wait := known.retryAt.Sub(c.Clock.Now()); wait > 0 {
			// An event, even that of our own status write, must not cut the pause between two tries short.
			return outcome{after: wait, deleted: c.expired(ctx, claim)}, nil
		}
		gone, err := c.launch(ctx, claim)
		if errors.Is(err, errLaunching) {
			return c.whileLaunching(ctx, claim), nil
		}
		if err != nil && !gone {
			if c.expired(ctx, claim) {
				return outcome{deleted: true}, nil
			}
			wait := c.pause(claim)
			end, _ := c.deadline(claim)
			c.Log.ErrorContext(ctx, "failed launching nodeclaim", append(story.Of(claim), "nodeclaim", claim.Name, "error", err, "retry_in", wait, "given_up_at", end)...)
			return outcome{after: wait}, nil
		}
		if gone || err != nil {
			return outcome{deleted: gone}, err
		}
	} else {
		c.remember(claim).instance = nil
	}
	node, err := c.register(ctx, claim, written)
	if err != nil {
		return outcome{}, err
	}
	if node != nil {
		c.nominated(ctx, claim, node.Name) // again, those that have lost it
		if err := c.initialize(ctx, claim, node); err != nil {
			return outcome{}, err
		}
	} else if c.reportedLost(ctx, claim) {
		return outcome{deleted: true}, nil
	}
	if c.expired(ctx, claim) {
		return outcome{deleted: true}, nil
	}
	return outcome{after: c.nextLook(claim)}, nil
}

// store patches what changed of the claim: first metadata, then status. Reasons for a wait shorter than patience are
// held back; the pass that nextLook asks for writes them if they still hold.
func (c *Controller) store(ctx context.Context, stored, claim *karpv1.NodeClaim) error {
	status := claim.Status.DeepCopy()
	if !equality.Semantic.DeepEqual(stored.ObjectMeta, claim.ObjectMeta) {
		if err := c.Client.Patch(ctx, claim, client.MergeFrom(stored)); err != nil {
			return fmt.Errorf("writing labels and annotations of nodeclaim %q: %w", claim.Name, err)
		}
		c.remember(claim).written = claim.ResourceVersion
		claim.Status = *status
	}
	if !c.worthWriting(stored, claim) {
		return nil
	}
	base := stored.DeepCopy()
	base.ResourceVersion = claim.ResourceVersion
	if err := c.Client.Status().Patch(ctx, claim, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("writing the status of nodeclaim %q: %w", claim.Name, err)
	}
	c.remember(claim).written = claim.ResourceVersion
	return nil
}

// stale reports whether the cache has not seen yet what this controller wrote last. Acting on it would write the same
// once more. Resource versions of one resource are ordered (Kubernetes 1.35, "comparable resource versions"); where one
// can't be read as a number, nothing is held back.
func (c *Controller) stale(claim *karpv1.NodeClaim) bool {
	wrote, err1 := strconv.ParseUint(c.remember(claim).written, 10, 64)
	have, err2 := strconv.ParseUint(claim.ResourceVersion, 10, 64)
	return err1 == nil && err2 == nil && have < wrote
}

// worthWriting reports whether the status holds progress, or a reason that is old enough to be told.
func (c *Controller) worthWriting(stored, claim *karpv1.NodeClaim) bool {
	if equality.Semantic.DeepEqual(stored.Status, claim.Status) {
		return false
	}
	was, is := stored.DeepCopy(), claim.DeepCopy()
	was.Status.Conditions, is.Status.Conditions = nil, nil
	if !equality.Semantic.DeepEqual(was.Status, is.Status) {
		return true
	}
	for _, now := range claim.Status.Conditions {
		before := stored.StatusConditions().Get(now.Type)
		if before == nil || before.Status != now.Status {
			return true
		}
		if now.Type == karpv1.ConditionTypeLaunched && (before.Reason != now.Reason || before.Message != now.Message) {
			return true
		}
		if before.Reason != now.Reason && c.Clock.Since(before.LastTransitionTime.Time) >= patience && c.Clock.Since(c.lastProgress(claim)) >= patience {
			return true
		}
	}
	return false
}

// lastProgress is when a condition last became True, or the claim's creation.
func (c *Controller) lastProgress(claim *karpv1.NodeClaim) time.Time {
	last := claim.CreationTimestamp.Time
	for _, cond := range claim.Status.Conditions {
		if cond.IsTrue() && cond.LastTransitionTime.After(last) {
			last = cond.LastTransitionTime.Time
		}
	}
	return last
}

// nextLook is when the claim must be looked at even if no event comes: to write the reason for a wait, and at the next
// timeout. Zero when nothing is awaited.
func (c *Controller) nextLook(claim *karpv1.NodeClaim) time.Duration {
	if claim.StatusConditions().IsTrue() {
		return 0
	}
	if !c.remember(claim).unseenSince.IsZero() && !claim.StatusConditions().IsTrue(karpv1.ConditionTypeRegistered) {
		return reread
	}
	if due, ok := c.lookupDue(claim); ok {
		return due
	}
	if wait := patience - c.Clock.Since(c.lastProgress(claim)); wait > 0 {
		return wait + 100*time.Millisecond
	}
	deadline, ok := c.deadline(claim)
	if due, waits := c.awaitingNode(claim); waits && due.Before(deadline) {
		deadline = due
	}
	if ok {
		return max(time.Second, min(deadline.Sub(c.Clock.Now())+100*time.Millisecond, time.Minute))
	}
	return time.Minute
}
