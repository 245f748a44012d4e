package disrupt

import (
	"context"
	"log/slog"
	"time"

	"k8s.io/utils/clock"

	"github.com/kerf-sh/kerf/internal/controller/obs"
)

// rounds is obs.Rounds for rounds without a context.
type rounds struct {
	name, what string
	period     time.Duration
	clock      clock.WithTicker
	synced     func() bool
	metrics    *obs.Metrics
	log        *slog.Logger
}

func (r rounds) run(ctx context.Context, round func() error) error {
	return obs.Rounds{Metrics: r.metrics, Log: r.log, Clock: r.clock, Name: r.name, Doing: r.what, Every: r.period, Synced: r.synced}.Run(ctx, func(context.Context) error { return round() })
}
