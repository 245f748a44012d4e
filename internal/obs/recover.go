package obs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

// conflictPause is how long a reconciler waits after its write lost against another. The event of the other write brings the
// object back at once, as a rule; this is for the case that it has come already.
const conflictPause = 50 * time.Millisecond

// Guard wraps a reconciler with Recover. A write that lost against another one is no error: it is tried again on what is
// there now, and nobody is told. Where something else failed as well, that is told, and waits its time.
func (m *Metrics) Guard(log *slog.Logger, name string, r reconcile.Reconciler) reconcile.Reconciler {
	return reconcile.Func(func(ctx context.Context, req reconcile.Request) (res reconcile.Result, err error) {
		err = m.Recover(log, name, func() error {
			var rerr error
			res, rerr = r.Reconcile(ctx, req)
			return rerr
		})
		if conflicts(err) {
			return reconcile.Result{RequeueAfter: conflictPause}, nil
		}
		return res, err
	})
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
