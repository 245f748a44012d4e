// Package provision is the loop that answers pending pods with instances: it collects pods for as long as they keep
// coming, makes a problem of the newest snapshot, has it solved and checked, and hands the plan on to be carried out.
//
// It is driven by changes, not by a clock: a pod that was found unschedulable, a reservation that was broken, a node that
// went, a pool, node class or daemon that changed. Only while pods are pending is everything looked at again every
// SafetyInterval, because prices and capacity change without an event.
package provision

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/apply"
	"github.com/kerf-sh/kerf/internal/controller/story"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/record"
	"github.com/kerf-sh/kerf/internal/state/cache"
	"github.com/kerf-sh/kerf/internal/trace"
)

const (
	// SafetyInterval is how often pending pods are looked at again when nothing happens.
	SafetyInterval = 10 * time.Second
	// loneWindow is how long pods wait for company that nobody is known to follow.
	loneWindow = 30 * time.Millisecond
	// leisure is how many times as long as the search took nodes that go are not worth another decision, SafetyInterval at most, unless
	// one of their pods waits. What they leave behind, such as room below a limit, can wait so long. A search of up to two seconds takes a
	// sixth of a core at most; karpenter_scheduler_scheduling_duration_seconds is what would move it.
	leisure = 5
)

// State is the part of the cache that the loop reads.
type State interface {
	Snapshot() *cluster.Snapshot
	Pools() []*karpv1.NodePool
	NodeClass(name string) *awsv1.EC2NodeClass
	Claim(name string) *karpv1.NodeClaim // nil: not known
	Listen(func(cache.Change))
}

// TypeSource lists the instance types of a node class; cloud.Provider is one.
type TypeSource interface {
	Types(ctx context.Context, class *awsv1.EC2NodeClass) ([]*catalog.Type, error)
}

// Overlays change what types cost and hold for the instances of a pool; *overlay.Store is one.
type Overlays interface {
	Types(pool string, types []*catalog.Type) ([]*catalog.Type, error)
}

// Applier carries plans out; *apply.Applier is one.
type Applier interface {
	Apply(ctx context.Context, p *plan.Plan, pools []*cluster.Pool) apply.Outcome
	PoolEvent(pool, detail string)
}

// Meter is told what the loop does; all methods must be quick.
type Meter interface {
	// Begin tells that a decision about so many pods begins; the function that it returns tells of its end.
	Begin(pods int) (end func())
	// Decided tells for which pods a decision has a place, and for which it has none.
	Decided(placed, unplaced []cluster.PodRef)
	// Solved tells how long a decision took.
	Solved(took time.Duration)
	// Unplaced counts the pods without a place by the reason of the pool that came nearest to serving them.
	Unplaced(byReason map[plan.Code]int)
	// Created counts a NodeClaim.
	Created(pool string, relaxed bool)
	// Refused counts an action that was not carried out.
	Refused(code apply.RefusalCode)
	// Violated counts a part of a plan that was dropped because the check refused it.
	Violated()
}

// Options of a Controller. State, Types and Applier are required.
type Options struct {
	State   State
	Types   TypeSource
	Applier Applier
	// Overlays shows each pool its types as NodeOverlays leave them; nil shows them as they are.
	Overlays Overlays
	// Subnets are those of a node class, sorted by ID, and what addresses they have left; nil tells of none.
	Subnets func(*awsv1.EC2NodeClass) []cluster.Subnet
	// First launches what static NodePools lack, before each decision, and returns when that is done or its context ends; nil does
	// nothing. Pods of a static pool's node that goes are planned onto what replaces it.
	First func(context.Context)
	// Synced reports whether the first list of every kind is in; nil is always.
	Synced func() bool
	// PriceBound is that of apply.Options.
	PriceBound int64
	// BatchIdle and BatchMax bound the wait for more pods: the longest silence, and the longest wait of all; 0 is 1 s and
	// 10 s.
	BatchIdle, BatchMax time.Duration
	// Missing is how many pods of an owner are still to come (Owners.Missing); nil knows of none.
	Missing func(context.Context, cache.Owner) (n int, ok bool)
	// Reserved reports whether room on a node is kept for a pod; nil knows of none.
	Reserved func(types.UID) bool
	// WholeBatches makes every decision wait for BatchIdle, also where nobody is known to follow.
	WholeBatches bool
	Pack         pack.Options
	// Currency is that of all prices; nil: not known.
	Currency func() catalog.Currency
	// Solve is that of a pack.Engine when nil.
	Solve func(*pack.Problem) *plan.Plan
	// Retry, when set, is told of which NodePools pods wait for capacity that EC2 lacks.
	Retry func(nodePool string)
	// Settle, when set, is told where the virtual pods of each decision have their room.
	Settle func([]cache.Room)
	// Check is the independent check of plans; nil is Check of this package.
	Check func(*pack.Problem, *plan.Plan) []Violation
	// Record, when set, is given every decision once it is carried out; it must return at once and must not change it.
	Record func(*record.Decision)
	// Trace, if set, records each decision.
	Trace *trace.Tracer
	Meter Meter
	// Recover runs a function and turns its panic into an error; nil is a plain one.
	Recover func(name string, fn func() error) error
	Log     *slog.Logger
	Clock   clock.Clock // nil is the real one
}

// Controller is the provisioning loop.
type Controller struct {
	o        Options
	batch    *batch
	problems *Problems
	offers   map[string]offer
	expected expected
	aside    aside
	held     standIns // of nodes that go with pods on them; see withHeld
	doubts   doubts
	renew    func() // takes a new engine; nil where the solver is given
	said     lastSaid
	retryIn  time.Duration
	rest     time.Duration           // how long churn is not worth another decision after the last one
	waits    map[cluster.PodRef]bool // virtual ones, and those that the last decision had no place for; the loop's goroutine only
	retried  map[string]time.Time    // when EC2 was last asked again for what a NodePool lacks
	listen   sync.Once
}

// New returns a Controller; Start runs it.
func New(o Options) *Controller {
	o.BatchIdle, o.BatchMax = cmp.Or(o.BatchIdle, time.Second), cmp.Or(o.BatchMax, 10*time.Second)
	if o.Check == nil {
		o.Check = Check
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Meter == nil {
		o.Meter = noMeter{}
	}
	if o.Recover == nil {
		o.Recover = recoverPlainly
	}
	if o.Pack.WellKnown == nil {
		o.Pack.WellKnown = apply.WellKnownLabels()
	}
	c := &Controller{o: o, batch: newBatch(o.BatchIdle, o.BatchMax, o.Clock), offers: map[string]offer{}, aside: aside{}, retried: map[string]time.Time{}}
	if o.Solve == nil {
		c.renew = func() { c.o.Solve = pack.NewEngine().Solve }
		c.renew()
	}
	c.doubts.reserved = o.Reserved
	c.batch.more = c.more
	c.batch.missing, c.batch.whole = o.Missing, o.WholeBatches
	c.problems = &Problems{State: o.State, Types: o.Types, Overlays: o.Overlays, Subnets: o.Subnets, Pack: o.Pack, Currency: o.Currency, Recover: o.Recover, Now: o.Clock.Now, Late: c.batch.poke}
	return c
}

// heard turns changes into triggers.
func (c *Controller) heard(change cache.Change) {
	switch change.Kind {
	case cache.PodMissed:
		c.doubts.miss(change.Class, change.Detail, c.o.Clock.Now())
	case cache.PodPlaced, cache.PodUnplanned:
		c.doubts.dispel(change.Class)
	case cache.SettingsChanged, cache.DaemonsMoved:
		c.doubts.dispelAll()
	}
	switch change.Kind {
	case cache.PodPending:
		c.batch.arrive(change.Name, change.Owner)
	case cache.NodeGoing, cache.NodeGone:
		c.batch.churn()
	case cache.PodChanged, cache.PoolChanged, cache.ClassChanged, cache.DaemonsMoved, cache.BufferMoved:
		c.batch.poke()
	}
}

// more reports whether a pod is pending that the last decision did not leave without a place.
func (c *Controller) more() bool {
	return slices.ContainsFunc(c.o.State.Snapshot().Pending, func(p *cluster.Pod) bool { return !c.waits[p.PodRef] })
}

// Trigger asks for a new look soon: something outside the cache changed, such as an offering that can be launched again.
func (c *Controller) Trigger() { c.batch.poke() }

// NeedLeaderElection makes the manager run the loop on the leader only.
func (c *Controller) NeedLeaderElection() bool { return true }

// Start runs the loop until ctx is done.
func (c *Controller) Start(ctx context.Context) error {
	if !c.awaitSync(ctx) {
		return nil
	}
	// Not before: a replica that waits for its election would gather the pods of weeks.
	c.listen.Do(func() { c.o.State.Listen(c.heard) })
	c.batch.poke()
	safety := c.o.Clock.NewTimer(SafetyInterval)
	defer safety.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.batch.signal:
			if !c.batch.wait(ctx) {
				return nil
			}
		case <-safety.C():
		}
		wait := c.step(ctx)
		c.batch.restFor(min(c.rest, wait))
		safety.Reset(wait)
	}
}

func (c *Controller) awaitSync(ctx context.Context) bool {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for c.o.Synced != nil && !c.o.Synced() {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
	return true
}

// again are the refusals after which to look again soon: nothing tells of what has changed, or pods have a place as things are now.
var again = []apply.RefusalCode{apply.WriteFailed, apply.LimitReached, apply.RoomTaken, apply.NodeGone, apply.PoolChanged}

// step decides once and returns after how long to look again if nothing happens.
func (c *Controller) step(ctx context.Context) time.Duration {
	failed := false
	err := c.o.Recover("provision", func() error {
		out, err := c.Decide(ctx)
		failed = slices.ContainsFunc(out.Refused, func(r apply.Refusal) bool { return slices.Contains(again, r.Code) })
		return err
	})
	if err == nil && !failed {
		c.retryIn = 0
		return SafetyInterval
	}
	c.retryIn = min(max(2*c.retryIn, 500*time.Millisecond), SafetyInterval)
	if err != nil {
		c.o.Log.Error("deciding on pending pods failed; nothing is launched for them until it succeeds", "error", err, "retry_in", c.retryIn)
	}
	return c.retryIn
}

// Decide looks at the cluster once: pending pods become a problem, the problem a plan, the plan instances.
//
// Errors: none of a single pool, class or instance; those are in the outcome and in the reasons of pods.
func (c *Controller) Decide(ctx context.Context) (apply.Outcome, error) {
	snapshot := c.o.State.Snapshot()
	c.rest = 0
	if len(snapshot.Pending) == 0 {
		c.o.Meter.Unplaced(nil)
		return apply.Outcome{}, nil
	}
	if c.o.First != nil {
		first, cancel := context.WithTimeout(ctx, firstPatience)
		c.o.First(first)
		cancel()
		snapshot = c.o.State.Snapshot()
	}
	virtual := virtualPods(snapshot.Pending)
	defer c.o.Meter.Begin(len(snapshot.Pending) - len(virtual))()
	began, batch := c.o.Clock.Now(), c.batch.take()
	id := story.NewID()
	ctx, span := c.begin(trace.WithID(ctx, id), batch, began)
	defer span.End()
	asking, cancel := context.WithTimeout(ctx, c.o.BatchIdle)
	more := c.expected.pods(asking, batch, snapshot.Pending, began, c.o.Missing)
	cancel()
	problem := c.problem(ctx, withPending(snapshot, more))
	c.announceEmpty(problem)
	searching := c.o.Clock.Now()
	p, problem, waits, err := c.solveTraced(ctx, problem)
	if err == nil && len(more) > 0 && leavesOut(p, more) {
		// What is to come must not take a place from what is there.
		more = nil
		p, problem, waits, err = c.solveTraced(ctx, c.problem(ctx, snapshot))
	}
	if err != nil {
		span.Fail(err)
		return apply.Outcome{}, err
	}
	searched, took := c.o.Clock.Since(searching), c.o.Clock.Since(began)
	c.o.Meter.Solved(took)
	solved := p
	p, dropped := c.verify(ctx, problem, solved)
	p = without(withUnplaced(p, waits), more)
	p = c.oneRetry(problem, p, began)
	c.o.Meter.Decided(decided(p))
	c.say(ctx, id, snapshot.Pending, problem, p, virtual, len(more), took)
	describe(span, len(snapshot.Pending)-len(virtual), p, unplaced(p, virtual))
	out := c.apply(ctx, p, problem)
	c.noteRetries(problem, out.Created, began)
	if c.o.Retry != nil {
		for _, pool := range retryFor(problem, p) {
			c.o.Retry(pool)
		}
	}
	c.report(p, out, virtual)
	c.announceMinValues(p)
	if c.o.Settle != nil {
		c.o.Settle(rooms(problem, p, out, virtual))
	}
	if c.o.Record != nil {
		c.o.Record(recorded(id, problem, solved, p, dropped, out))
	}
	c.rest, c.waits = leisure*searched, map[cluster.PodRef]bool{}
	maps.Copy(c.waits, virtual)
	_, left := decided(p)
	for _, pod := range left {
		c.waits[pod] = true
	}
	return out, nil
}

// decided are the pods for which a plan has a place, and those for which it has none.
func decided(p *plan.Plan) (placed, unplaced []cluster.PodRef) {
	for i := range p.NewNodes {
		placed = append(placed, p.NewNodes[i].Pods...)
	}
	for i := range p.Placements {
		placed = append(placed, p.Placements[i].Pods...)
	}
	for i := range p.Unplaced {
		unplaced = append(unplaced, p.Unplaced[i].Pods...)
	}
	return placed, unplaced
}

func placed(p *plan.Plan, virtual map[cluster.PodRef]bool) int {
	n := 0
	for _, x := range p.Placements {
		n += existing(x.Pods, virtual)
	}
	return n
}

func unplaced(p *plan.Plan, virtual map[cluster.PodRef]bool) int {
	n := 0
	for _, u := range p.Unplaced {
		n += existing(u.Pods, virtual)
	}
	return n
}

func (c *Controller) report(p *plan.Plan, out apply.Outcome, virtual map[cluster.PodRef]bool) {
	byReason := map[plan.Code]int{}
	for _, u := range p.Unplaced {
		code := plan.NoPools
		if r, ok := plan.Nearest(u.Reasons); ok {
			code = r.Code
		}
		if n := existing(u.Pods, virtual); n > 0 {
			byReason[code] += n
		}
	}
	c.o.Meter.Unplaced(byReason)
	for _, x := range out.Created {
		c.o.Meter.Created(x.Pool, x.Relaxed)
	}
	for _, x := range out.Refused {
		c.o.Meter.Refused(x.Code)
	}
}

func recoverPlainly(name string, fn func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s: panic: %v", name, p)
		}
	}()
	return fn()
}

type noMeter struct{}

func (noMeter) Begin(int) func()              { return func() {} }
func (noMeter) Decided(_, _ []cluster.PodRef) {}
func (noMeter) Solved(time.Duration)          {}
func (noMeter) Unplaced(map[plan.Code]int)    {}
func (noMeter) Created(string, bool)          {}
func (noMeter) Refused(apply.RefusalCode)     {}
func (noMeter) Violated()                     {}
