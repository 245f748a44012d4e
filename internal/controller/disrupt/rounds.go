package disrupt

import (
	"context"
	"log/slog"
	"time"

	"k8s.io/utils/clock"

	"github.com/kerf-sh/kerf/internal/controller/obs"
)

// rounds is a loop that looks once in each period.
type rounds struct {
	name   string // in metrics of panics
	what   string // for the log, where a round fails
	period time.Duration
	clock  clock.WithTicker
	// synced reports whether the first list of every kind is in; nil is always.
	synced  func() bool
	metrics *obs.Metrics
	log     *slog.Logger
}

// run makes rounds until ctx ends. What one of them fails with, or panics with, is logged, and the next is made all the same.
func (r rounds) run(ctx context.Context, round func() error) error {
	t := r.clock.NewTicker(r.period)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.C():
		}
		if r.synced != nil && !r.synced() {
			continue
		}
		if err := r.metrics.Recover(r.log, r.name, round); err != nil && ctx.Err() == nil {
			r.log.Error(r.what+" failed; it is tried again", "error", err)
		}
	}
}
