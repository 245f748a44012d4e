package obs_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kerf-sh/kerf/internal/controller/obs"
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
			if (err != nil) != tt.fails || res.Requeue != tt.again { //nolint:staticcheck // see Guard
				t.Errorf("got %+v, %v", res, err)
			}
		})
	}
}
