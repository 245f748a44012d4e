package obs

import (
	"context"
	"log/slog"
	"time"

	"k8s.io/utils/clock"
)

// Rounds is a loop that looks at everything once in a while.
type Rounds struct {
	Metrics *Metrics
	Log     *slog.Logger
	Clock   clock.Clock
	// Name is the loop's in metrics, Doing what the log says when a round fails.
	Name, Doing string
	// Every is the pause between two rounds.
	Every time.Duration
	// Wake cuts a pause short; nil never does.
	Wake <-chan struct{}
	// Synced reports whether there is enough to look at: no round is made before. nil is always.
	Synced func() bool
}

// Run makes rounds until ctx ends, the first at once. Neither an error nor a panic ends the loop. It returns nil, as a
// manager wants it of what was told to stop.
func (r Rounds) Run(ctx context.Context, round func(context.Context) error) error {
	return r.RunPaced(ctx, func(ctx context.Context) (time.Duration, error) { return r.Every, round(ctx) })
}

// RunPaced is Run where each round says how long the pause after it is; 0 is Every, as after a panic.
func (r Rounds) RunPaced(ctx context.Context, round func(context.Context) (time.Duration, error)) error {
	for {
		pause := r.Every
		err := r.Metrics.Recover(r.Log, r.Name, func() error {
			if r.Synced != nil && !r.Synced() {
				return nil
			}
			wait, err := round(ctx)
			if wait > 0 {
				pause = wait
			}
			return err
		})
		if err != nil && ctx.Err() == nil {
			r.Log.Error(r.Doing+" failed; it is tried again", "error", err, "retry_in", pause)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-r.Wake:
		case <-r.Clock.After(pause):
		}
	}
}
