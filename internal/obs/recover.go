package obs

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Recover runs fn and turns a panic into an error: it is counted in kerf_panics_total and logged with its stack. One
// object that breaks an assumption must not take the others down.
func (m *Metrics) Recover(log *slog.Logger, name string, fn func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			m.Panics.WithLabelValues(name).Inc()
			log.Error("recovered from a panic; please report it", "controller", name, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = fmt.Errorf("%s: panic: %v", name, p)
		}
	}()
	return fn()
}

// Guard wraps a reconciler with Recover.
func (m *Metrics) Guard(log *slog.Logger, name string, r reconcile.Reconciler) reconcile.Reconciler {
	return reconcile.Func(func(ctx context.Context, req reconcile.Request) (res reconcile.Result, err error) {
		err = m.Recover(log, name, func() error {
			var rerr error
			res, rerr = r.Reconcile(ctx, req)
			return rerr
		})
		return res, err
	})
}
