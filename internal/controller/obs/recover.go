package obs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kerf-sh/kerf/internal/guard"
)

// Recover runs fn and turns a panic into an error: it is counted in kerf_panics_total and logged with its stack. One
// object that breaks an assumption must not take the others down.
func (m *Metrics) Recover(log *slog.Logger, name string, fn func() error) error {
	err := guard.Catch(name, fn)
	var p *guard.Panic
	if errors.As(err, &p) && p.First() {
		m.panicked(log, p)
	}
	return err
}

// Panicked counts and logs the panics of this process that happened beside all callers, until stop is called.
func (m *Metrics) Panicked(log *slog.Logger) (stop func()) {
	return guard.Listen(func(p *guard.Panic) { m.panicked(log, p) })
}

// stackEvery is the least time between two stacks of one place in the log: an object that is tried again panics again.
const stackEvery = time.Minute

func (m *Metrics) panicked(log *slog.Logger, p *guard.Panic) {
	m.Panics.WithLabelValues(p.Where).Inc()
	if last, ok := m.stacks.Load(p.Where); ok && time.Since(last.(time.Time)) < stackEvery {
		log.Error("recovered from a panic", "where", p.Where, "panic", fmt.Sprint(p.Value))
		return
	}
	m.stacks.Store(p.Where, time.Now())
	log.Error("recovered from a panic; please report it", "where", p.Where, "panic", fmt.Sprint(p.Value), "stack", string(p.Stack))
}

// Guard wraps a reconciler with Recover. A write that lost against another one is no error: it is tried again on what is
// there now, and nobody is told. The event of the other write brings the object back at once, as a rule; where it is late, because the
// API server is, the pauses between the tries grow. Where something else failed as well, that is told.
func (m *Metrics) Guard(log *slog.Logger, name string, r reconcile.Reconciler) reconcile.Reconciler {
	var lost pauses
	return reconcile.Func(func(ctx context.Context, req reconcile.Request) (res reconcile.Result, err error) {
		err = m.Recover(log, name, func() error {
			var rerr error
			res, rerr = r.Reconcile(ctx, req)
			return rerr
		})
		if conflicts(err) {
			return reconcile.Result{RequeueAfter: lost.next(req)}, nil
		}
		lost.over(req)
		return res, err
	})
}

// firstPause and mostPause are between tries of a write that lost against others.
const firstPause, mostPause = 50 * time.Millisecond, 5 * time.Second

// pauses are those of the objects whose last write lost. The limiter of a controller would take a conflict for one more of the failures
// that were before it.
type pauses struct {
	mu   sync.Mutex
	last map[reconcile.Request]time.Duration
}

func (p *pauses) next(req reconcile.Request) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last == nil {
		p.last = map[reconcile.Request]time.Duration{}
	}
	p.last[req] = min(max(2*p.last[req], firstPause), mostPause)
	return p.last[req]
}

func (p *pauses) over(req reconcile.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.last, req)
}

// conflicts reports whether nothing but writes failed that lost against others.
func conflicts(err error) bool {
	for e := err; e != nil; e = errors.Unwrap(e) {
		if several, ok := e.(interface{ Unwrap() []error }); ok {
			return !slices.ContainsFunc(several.Unwrap(), func(one error) bool { return !conflicts(one) })
		}
	}
	return apierrors.IsConflict(err)
}
