package shadow

import (
	"context"
	"log/slog"
	"time"

	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/disrupt/confirmation"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/state/readonly"
)

// Every is how often a decision is made while something changes, Rest while nothing does: prices and budgets move by
// themselves.
const (
	Every = 2 * time.Second
	Rest  = 10 * time.Second
)

// Loop decides and keeps book. All fields but Recover and Synced are required.
type Loop struct {
	Book  *Book
	State interface{ Snapshot() *cluster.Snapshot }
	// Problem makes the input of a decision on pods, Solve makes the decision, Disrupt the one on nodes.
	Problem func(context.Context, *cluster.Snapshot) *pack.Problem
	Solve   func(*pack.Problem) *plan.Plan
	Disrupt func(context.Context, *cluster.Snapshot) *disrupt.Decision
	Guard   *readonly.Guard
	Synced  func() bool
	Metrics *obs.Metrics
	Recover func(name string, fn func() error) error
	Log     *slog.Logger
	Now     func() time.Time

	confirmation confirmation.Tracker
}

// NeedLeaderElection is false: a shadow leads nothing.
func (l *Loop) NeedLeaderElection() bool { return false }

// Start runs the loop until ctx ends, and then logs the summary.
func (l *Loop) Start(ctx context.Context) error {
	tick := time.NewTicker(Every)
	defer tick.Stop()
	var last *cluster.Snapshot
	var at time.Time
	for {
		select {
		case <-ctx.Done():
			s := l.Summary()
			l.Log.Info("the shadow run ends", "rounds", s.Rounds, "running_micro_usd_per_hour", int64(s.Total.Running), "kerf_micro_usd_per_hour", int64(s.Total.Kerf),
				"missed_micro_usd", int64(s.Missed), "refused_calls", l.Guard.Total())
			return nil
		case <-tick.C:
		}
		if l.Synced != nil && !l.Synced() {
			continue
		}
		snapshot := l.State.Snapshot()
		if snapshot == last && l.Now().Sub(at) < Rest || snapshot.Unsettled > 0 {
			continue
		}
		last, at = snapshot, l.Now()
		round := func() error { l.round(ctx, snapshot); return nil }
		if l.Recover == nil {
			_ = round()
		} else if err := l.Recover("shadow", round); err != nil {
			l.Log.Error("deciding in the shadow failed; it is tried again", "error", err)
		}
	}
}

// round decides once.
func (l *Loop) round(ctx context.Context, snapshot *cluster.Snapshot) {
	r := &Round{At: l.Now(), Cluster: l.Problem(ctx, snapshot)}
	if len(snapshot.Pending) > 0 {
		r.Plan = l.Solve(r.Cluster)
	}
	if d := l.Disrupt(ctx, snapshot); d != nil {
		r.Disruption = l.confirmed(d)
	}
	if ctx.Err() != nil {
		return
	}
	fresh := l.Book.Enter(r)
	for i := range fresh {
		w := &fresh[i]
		l.Log.Info("would have done", "what", w.What, "reason", w.Reason, "nodepools", w.Pools, "nodes", w.Nodes, "new", w.New, "pods", w.Pods,
			"saving_micro_usd_per_hour", int64(w.Saving), "why", w.Why)
		for _, pool := range w.Pools {
			l.Metrics.Shadow.Decisions.WithLabelValues(w.What, w.Reason, pool).Inc()
		}
	}
	s := l.Book.Summary()
	l.Metrics.Replace(l.Metrics.Shadow.Bill, func(set func(float64, ...string)) {
		for _, p := range s.Pools {
			set(dollars(p.Running), p.Name, "running")
			set(dollars(p.Kerf), p.Name, "kerf")
		}
	})
	l.Metrics.Shadow.Missed.Set(dollars(s.Missed))
}

// confirmed is a decision with those of its moves that have stood for as long as they have to.
func (l *Loop) confirmed(d *disrupt.Decision) *disrupt.Decision {
	now := l.Now()
	out := *d
	out.Moves, _, _ = l.confirmation.Observe(d.Moves, now)
	return &out
}

func dollars(m catalog.MicroUSD) float64 { return float64(m) / 1e6 }

// Summary is the book's, with the calls that were refused.
func (l *Loop) Summary() Summary {
	s := l.Book.Summary()
	s.Refused = l.Guard.Refused()
	return s
}
