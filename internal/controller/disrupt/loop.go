package disrupt

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/events"
	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/disrupt/confirmation"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/verify"
	"github.com/kerf-sh/kerf/internal/state/cache"
)

const (
	// tick is how often the loop looks whether anything has changed.
	tick = time.Second
	// safety is how often it decides when nothing it knows of has changed: budgets begin and end, prices move.
	safety = 10 * time.Second
	// leisure is how many times as long as a decision took the loop rests before the next.
	leisure = 5
)

// Loop decides which nodes go, because they drifted (rollOut), or because they are empty or their pods would be carried for less
// (consolidate): it asks about the newest snapshot whenever something has changed, and hands commands to the queue. Consolidation is
// confirmed before. One decision is made after the other: two would give away the same room and the same budgets.
type Loop struct {
	Queue   *Queue
	State   *cache.Cache
	Breaker Breaker
	// Problem makes the cluster's part of a problem in which so many nodes may be replaced; it is called by one goroutine.
	// DriftProblem is the same at the prices of now, for nodes that drifted.
	Problem, DriftProblem func(ctx context.Context, snapshot *cluster.Snapshot, nodes int) *pack.Problem
	// Bare makes n instances for no pods in particular of a static pool, and the pool as they are offered in it; nil where
	// there are no static pools. What can't be had has its reasons.
	Bare    func(ctx context.Context, pool *karpv1.NodePool, n int, snapshot *cluster.Snapshot) ([]plan.NewNode, []plan.Reason, *cluster.Pool, error)
	Options disrupt.Options
	// Synced reports whether the first list of every kind is in; nil is always.
	Synced  func() bool
	Metrics *obs.Metrics
	Log     *slog.Logger
	Clock   clock.WithTicker
	// LeftAlone tells of instances that have to stay where they are for now, by provider ID; nil: there are none.
	LeftAlone func(providerID string) bool
	// Decided, if set, is told of each decision, with for how long its moves have stood.
	Decided func(*disrupt.Decision)
	// Without are mechanisms to do without, of Mechanisms.
	Without map[string]bool
	// Record, if set, is told of each decision of which something is begun: what was asked, what was decided, which of its moves are
	// begun, and by which commands. Cause and due are those of disrupt.Replace; the cause is empty where disrupt.Decide was asked.
	// Nothing of it changes any more.
	Record func(p *disrupt.Problem, cause disrupt.Cause, due []string, d *disrupt.Decision, begun []disrupt.Move, ids []string)

	survival     survival
	engine       disrupt.Engine
	confirmation confirmation.Tracker
	reporter     *reporter
	drift        drift
	seen         *cluster.Snapshot // that was decided on
	restored     bool              // the breaker knows what a former leader knew
	due          time.Time         // when to decide though nothing has changed
	rest         time.Time         // until when not to
	found        atomic.Pointer[disrupt.Decision]
}

// NeedLeaderElection makes the manager start the loop on the leader only.
func (l *Loop) NeedLeaderElection() bool { return true }

// Forecast decides on a snapshot which nodes could go, and does nothing about it: no move is confirmed, nothing is marked, told or
// remembered beyond the search that the engine may take up again. The loop must not have been started.
func (l *Loop) Forecast(ctx context.Context, snapshot *cluster.Snapshot) *disrupt.Decision {
	return l.engine.Decide(l.gather(ctx, snapshot).problem)
}

// Found is the last decision, with when it was made and for how long its moves have stood; nil before the first. It must not be changed.
func (l *Loop) Found() *disrupt.Decision { return l.found.Load() }

// Launched tells the breaker what instances had to be launched, and for which pods.
func (l *Loop) Launched(launched []Launch) {
	if len(launched) == 0 {
		return
	}
	why := l.Breaker.Launched(launched, l.State.Settled, l.Clock.Now())
	if why == "" {
		return
	}
	until, _, _ := l.Breaker.Open(l.Clock.Now())
	l.Log.Warn("consolidation that moves pods is held", "until", until, "why", why)
	for _, p := range l.State.Pools() {
		l.Queue.Recorder.Eventf(p, corev1.EventTypeWarning, events.ConsolidationHeld, "consolidation that moves pods is held until %s: %s", until.UTC().Format(time.RFC3339), why)
	}
}

// Start runs the loop until ctx ends.
func (l *Loop) Start(ctx context.Context) error {
	l.reporter, l.drift.reporter = newReporter(l.Queue), newReporter(l.Queue)
	l.confirmation = confirmation.Tracker{} // no move has stood while nothing was decided
	return obs.Rounds{Metrics: l.Metrics, Log: l.Log, Clock: l.Clock, Name: "disruption", Doing: "deciding which nodes could go", Every: tick, Synced: l.Synced}.Run(ctx, l.round)
}

// round decides once if there is a reason to.
func (l *Loop) round(ctx context.Context) error {
	began := l.Clock.Now()
	if !l.restored {
		l.Breaker.restore(l.State.Pools(), began)
		l.restored = true
	}
	if err := l.writeBreaker(ctx); err != nil {
		l.Log.Error("writing on the NodePools that consolidation is held failed; it is tried again", "error", err)
	}
	if l.State.Snapshot() == l.seen && began.Before(l.due) {
		return nil
	}
	errDrift := l.Metrics.Recover(l.Log, "disruption.drift", func() error { return l.rollOut(ctx, l.State.Snapshot()) })
	if errDrift != nil {
		errDrift = fmt.Errorf("replacing nodes that drifted: %w", errDrift)
	}
	return errors.Join(errDrift, l.consolidate(ctx, l.State.Snapshot()))
}

// consolidate decides once which nodes could go to save money, unless it has to rest.
func (l *Loop) consolidate(ctx context.Context, snapshot *cluster.Snapshot) error {
	began := l.Clock.Now()
	if began.Before(l.rest) || snapshot.Unsettled > 0 { // which nodes virtual pods need is decided any moment
		return nil
	}
	if last := l.Found(); last != nil && last.Next == 0 && snapshot != l.seen {
		l.Options.Start = 0
	}
	v := l.gather(ctx, snapshot)
	end := l.Metrics.Work.Begin("disruption")
	d := l.engine.Decide(v.problem)
	end()
	took := l.Clock.Since(began)
	l.Metrics.Disruption.Evaluation.WithLabelValues("underutilized", "multi").Observe(took.Seconds())
	l.Metrics.SchedulingDuration.WithLabelValues("disruption").Observe(took.Seconds())
	l.seen, l.due, l.rest = snapshot, began.Add(safety), began.Add(leisure*took)
	if !v.next.IsZero() && v.next.Before(l.due) {
		l.due = v.next
	}
	l.goOn(d, began)
	l.measure(v, d)
	l.reporter.about(v, d)
	return l.act(ctx, v, d)
}

// goOn says from where the next decision grows sets, and that it is due at once as long as some starts have not had their turn. Once
// all have (Decision.Next is 0), they have it again when something changes: the cluster, or else a budget has begun, prices have moved.
// The decision before is Found until act stores this one.
func (l *Loop) goOn(d *disrupt.Decision, began time.Time) {
	switch last := l.Found(); {
	case d.Next > l.Options.Start:
		l.Options.Start, l.due = d.Next, began
	case d.Next == 0 && l.Options.Start > 0 && !d.Repeated && last != nil && last.Next == 0:
		l.Options.Start, l.due = 0, began
	}
}

// act starts what has been confirmed.
func (l *Loop) act(ctx context.Context, v *view, d *disrupt.Decision) error {
	now := l.Clock.Now()
	moves := l.governed(d.Moves, now)
	confirmed, wait, dropped := l.confirmation.Observe(moves, now)
	found := l.stood(d, now)
	l.found.Store(found)
	if l.Decided != nil {
		l.Decided(found)
	}
	l.reporter.dropped(v, d, dropped)
	l.reporter.candidates(v, moves)
	if wait > 0 && now.Add(wait).Before(l.due) {
		l.due = now.Add(wait)
	}
	if len(confirmed) == 0 {
		return nil
	}
	confirmed = l.sound("consolidation", d, confirmed, verify.Moves(v.problem, d))
	if len(confirmed) == 0 {
		return nil
	}
	l.due, l.Options.Start = now, 0
	return l.start(ctx, v, confirmed, l.commands(v, "", nil, d, confirmed))
}

// stood is the decision with when it was made, and for how long its moves have stood.
func (l *Loop) stood(d *disrupt.Decision, now time.Time) *disrupt.Decision {
	out := *d
	out.At = now
	out.Moves = slices.Clone(d.Moves)
	for i := range out.Moves {
		out.Moves[i].Stood = l.confirmation.Stood(out.Moves[i].Nodes)
	}
	return &out
}

// governed are the moves that the breaker lets happen now.
func (l *Loop) governed(moves []disrupt.Move, now time.Time) []disrupt.Move {
	until, why, open := l.Breaker.Open(now)
	if !open || l.without("breaker") {
		l.Metrics.Disruption.Breaker.Set(0)
		return moves
	}
	l.Metrics.Disruption.Breaker.Set(1)
	out := slices.DeleteFunc(slices.Clone(moves), func(m disrupt.Move) bool { return m.Cause != disrupt.Empty })
	if len(out) < len(moves) {
		l.Log.Debug("consolidation that moves pods is held", "until", until, "why", why)
	}
	return out
}

// start begins the commands of moves.
func (l *Loop) start(ctx context.Context, v *view, moves []disrupt.Move, commands []Command) error {
	for i := range moves {
		l.confirmation.Forget(moves[i].Nodes)
	}
	refused, err := l.Queue.startAll(ctx, "disruption", commands, func(i int) {
		if m := &moves[i]; m.Cause == disrupt.Underutilized {
			// Not once all have begun: its pods may have left by then, and nobody would know that they were moved.
			l.Breaker.Moving(l.podsOf(m, v), m.Saving, l.State.Settled, l.Clock.Now())
			l.reporter.approved(v, m)
		}
	})
	for i, why := range refused {
		if why != nil {
			l.reporter.rejected(v, commands[i].Nodes[0].Node, commands[i].kind(), why.Error())
		}
	}
	return err
}
