package obs_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/guard"
)

func TestAWriteThatLostIsTriedAgainInSilence(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "nodes"}, "n", errors.New("the object has been modified"))
	for name, tt := range map[string]struct {
		err   error
		again bool
		fails bool
	}{
		"no error":                         {},
		"a conflict, wrapped":              {err: fmt.Errorf("releasing node %q: %w", "n", conflict), again: true},
		"several conflicts":                {err: fmt.Errorf("stamping: %w", errors.Join(conflict, fmt.Errorf("b: %w", conflict))), again: true},
		"a conflict beside a failure":      {err: fmt.Errorf("stamping: %w", errors.Join(conflict, errors.New("no answer"))), fails: true},
		"another refusal of the apiserver": {err: apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, "n", nil), fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			guarded := obs.NewMetrics(prometheus.NewRegistry()).Guard(slog.New(slog.DiscardHandler), "test", reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
				return reconcile.Result{}, tt.err
			}))
			res, err := guarded.Reconcile(t.Context(), reconcile.Request{})
			if (err != nil) != tt.fails || (res.RequeueAfter > 0) != tt.again {
				t.Errorf("got %+v, %v", res, err)
			}
		})
	}
}

// TestAPanicIsToldOnce though it is an error of several callers on its way.
func TestAPanicIsToldOnce(t *testing.T) {
	m := obs.NewMetrics(prometheus.NewRegistry())
	log := slog.New(slog.DiscardHandler)
	defer m.Panicked(log)()
	err := guard.Run("outer", func() error {
		return m.Recover(log, "loop", func() error {
			return fmt.Errorf("starting: %w", m.Recover(log, "queue", func() error { panic("planted") }))
		})
	})
	if err == nil || testutil.ToFloat64(m.Panics.WithLabelValues("queue")) != 1 || testutil.CollectAndCount(m.Panics) != 1 {
		t.Errorf("%v: told %v times, at %d places", err, testutil.ToFloat64(m.Panics.WithLabelValues("queue")), testutil.CollectAndCount(m.Panics))
	}
}

// TestConflictsWaitLongerEachTime, and begin anew once the write went through; each object for itself.
func TestConflictsWaitLongerEachTime(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "nodes"}, "n", errors.New("the object has been modified"))
	err := error(conflict)
	guarded := obs.NewMetrics(prometheus.NewRegistry()).Guard(slog.New(slog.DiscardHandler), "test", reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
		return reconcile.Result{}, err
	}))
	a, b := reconcile.Request{}, reconcile.Request{}
	a.Name, b.Name = "a", "b"
	waits := func(req reconcile.Request, want ...time.Duration) {
		t.Helper()
		for i, w := range want {
			if res, err := guarded.Reconcile(t.Context(), req); err != nil || res.RequeueAfter != w {
				t.Errorf("try %d: again after %s, %v; want %s", i, res.RequeueAfter, err, w)
			}
		}
	}
	waits(a, 50*time.Millisecond, 100*time.Millisecond, 200*time.Millisecond, 400*time.Millisecond, 800*time.Millisecond, 1600*time.Millisecond, 3200*time.Millisecond, 5*time.Second, 5*time.Second)
	waits(b, 50*time.Millisecond)
	err = nil
	waits(a, 0)
	err = conflict
	waits(a, 50*time.Millisecond)
	waits(b, 100*time.Millisecond)
}
