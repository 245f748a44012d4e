// Package static keeps the number of nodes of NodePools that fix it (spec.replicas). What is missing is launched at once,
// cheapest first; what is too many goes, the nodes that nobody uses first.
//
// Counting is all there is to it, and it is made against the newest state: an instance counts from the moment at which its
// NodeClaim was created here; one that a command of the disruption queue takes away counts until its replacement does;
// one that expires counts no more, so that its replacement comes before it goes.
package static

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/apply"
	"github.com/kerf-sh/kerf/internal/controller/events"
	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/controller/story"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/state/cache"
	"github.com/kerf-sh/kerf/internal/state/intake"
	"github.com/kerf-sh/kerf/internal/trace"
)

const (
	// tick is how often the loop counts without being woken: cached values are compared, nothing is asked of anyone.
	tick = time.Second
	// limited is how soon a pool that could not launch is tried again, unless something changes before.
	limited = 30 * time.Second
)

// State is the part of the cache that the loop counts in.
type State interface {
	Snapshot() *cluster.Snapshot
	Pools() []*karpv1.NodePool
	Claim(name string) *karpv1.NodeClaim
	Pod(cluster.PodRef) *corev1.Pod
	Listen(func(cache.Change))
}

// Launcher launches instances that no pod has asked for; *apply.Applier is one.
type Launcher interface {
	Stock(ctx context.Context, nodes []plan.NewNode, pools []*cluster.Pool) apply.Outcome
}

// Options of a Controller. All but Synced are required.
type Options struct {
	Client   client.Client
	State    State
	Shop     *Shop
	Launcher Launcher
	// Synced reports whether the first list of every kind is in: before that nothing is counted.
	Synced   func() bool
	Recorder record.EventRecorder
	Metrics  *obs.Metrics
	Log      *slog.Logger
	Clock    clock.Clock
}

// Controller is the loop.
type Controller struct {
	o    Options
	wake chan struct{}
	// waiting are callers of Settle.
	waiting waiting
	// ended holds the claims that were deleted here and that the cache may not show as going yet.
	ended map[types.UID]bool
	// stuck is what the last try to launch for a pool met; while nothing of that changes it is not tried again before its time.
	stuck map[string]hurdle
}

type hurdle struct {
	retry      time.Time
	generation int64
	have       int
}

// New returns a Controller, which listens from now on; Start runs it.
func New(o Options) *Controller {
	c := &Controller{o: o, wake: make(chan struct{}, 1), ended: map[types.UID]bool{}, stuck: map[string]hurdle{}}
	o.State.Listen(func(change cache.Change) {
		switch change.Kind {
		case cache.NodeGoing, cache.NodeGone, cache.PoolChanged, cache.ClassChanged:
			c.poke()
		}
	})
	return c
}

// poke asks for a round soon.
func (c *Controller) poke() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// NeedLeaderElection makes the manager start the loop on the leader only.
func (c *Controller) NeedLeaderElection() bool { return true }

// Start runs the loop until ctx ends.
func (c *Controller) Start(ctx context.Context) error {
	loop := obs.Rounds{Metrics: c.o.Metrics, Log: c.o.Log, Clock: c.o.Clock, Name: "static", Doing: "keeping the number of nodes of static NodePools", Every: tick, Wake: c.wake, Synced: c.o.Synced}
	return loop.Run(ctx, func(ctx context.Context) error {
		defer c.waiting.take()()
		return c.Round(ctx)
	})
}

// Round counts the nodes of every static pool once, and launches or ends what differs.
func (c *Controller) Round(ctx context.Context) error {
	var errs []error
	here := map[string]bool{}
	var snapshot *cluster.Snapshot
	for _, pool := range c.o.State.Pools() {
		if !pool.IsStatic() || !pool.DeletionTimestamp.IsZero() {
			continue
		}
		here[pool.Name] = true
		if snapshot == nil {
			snapshot = c.o.State.Snapshot()
			c.forgetEnded(snapshot)
		}
		n, err := c.count(ctx, pool, snapshot)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		switch want := int(*pool.Spec.Replicas); {
		case n.staying < want:
			errs = append(errs, c.grow(ctx, pool, n, want-n.staying, snapshot))
		case n.staying > want:
			errs = append(errs, c.shrink(ctx, pool, n, n.staying-want))
		}
	}
	for name := range c.stuck {
		if !here[name] {
			delete(c.stuck, name)
		}
	}
	return errors.Join(errs...)
}

// forgetEnded drops what the cache shows as going, or no longer shows.
func (c *Controller) forgetEnded(snapshot *cluster.Snapshot) {
	if len(c.ended) == 0 {
		return
	}
	still := map[types.UID]bool{}
	for _, n := range snapshot.Nodes {
		if claim := c.o.State.Claim(n.Claim); claim != nil && !n.Deleting && c.ended[claim.UID] {
			still[claim.UID] = true
		}
	}
	c.ended = still
}

// grow launches missing instances, as far as limits.nodes allows.
func (c *Controller) grow(ctx context.Context, pool *karpv1.NodePool, n count, missing int, snapshot *cluster.Snapshot) error {
	if !pool.StatusConditions().IsTrue() {
		return nil // its conditions say why
	}
	now := c.o.Clock.Now()
	at := hurdle{generation: pool.Generation, have: n.all}
	if last, ok := c.stuck[pool.Name]; ok && now.Before(last.retry) {
		if last.retry = (time.Time{}); last == at {
			return nil
		}
	}
	delete(c.stuck, pool.Name)
	room := missing
	if limit, ok := intake.Resources(corev1.ResourceList(pool.Spec.Limits))[res.Nodes]; ok {
		room = int(max(0, limit-int64(n.all)))
	}
	if room < missing {
		at.retry = now.Add(limited)
		c.stuck[pool.Name] = at
		c.o.Recorder.Eventf(pool, corev1.EventTypeWarning, events.ReplicasLimited, "%d nodes are missing and limits.nodes leaves room for %d: %d are there, those that are going included", missing, room, n.all)
	}
	missing = min(missing, room)
	if underWay, unproven := intake.Unproven(pool, snapshot.Nodes, c.o.State.Claim); unproven {
		missing = min(missing, 1-min(underWay, 1))
	}
	if missing == 0 {
		return nil
	}
	bare, reasons, offered, err := c.o.Shop.Bare(ctx, pool, missing, snapshot)
	if err != nil {
		at.retry = now.Add(limited)
		c.stuck[pool.Name] = at
		return err
	}
	id := story.NewID()
	out := c.o.Launcher.Stock(trace.WithID(ctx, id), bare, []*cluster.Pool{offered})
	for _, x := range out.Created {
		c.o.Metrics.NodeClaimsCreated.WithLabelValues("provisioned", x.Pool, fmt.Sprint(x.Relaxed)).Inc()
	}
	changed := slices.ContainsFunc(out.Refused, func(r apply.Refusal) bool { return r.Code == apply.PoolChanged }) // the next round has the new one
	if len(out.Created) < missing && !changed && ctx.Err() == nil {
		at.retry = now.Add(limited)
		at.have += len(out.Created)
		c.stuck[pool.Name] = at
		c.o.Recorder.Eventf(pool, corev1.EventTypeWarning, events.NoCompatibleInstanceTypes, "%d of %d missing nodes could not be launched: %s", missing-len(out.Created), missing, why(reasons, out.Refused))
	}
	c.o.Log.Info("launched nodes of a static nodepool", story.DecisionKey, id, "nodepool", pool.Name, "replicas", *pool.Spec.Replicas, "had", n.staying, "launched", len(out.Created))
	return nil
}

func why(reasons []plan.Reason, refused []apply.Refusal) string {
	var out []string
	for _, r := range reasons {
		out = append(out, r.Text())
	}
	for _, r := range refused {
		out = append(out, r.Detail)
	}
	if len(out) == 0 {
		return "nothing of what the pool allows can be had now"
	}
	return strings.Join(out[:min(len(out), 3)], "; ")
}
