package app

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/kerf-sh/kerf/internal/guard"
)

// firstRestart and lastRestart bound the pause after which a loop that panicked is started again.
const (
	firstRestart = time.Second
	lastRestart  = 5 * time.Minute
)

// Add hands a loop to the manager. A panic that leaves the loop, past what it guards itself, starts it again after a pause
// that doubles; the others go on.
func (d *deps) Add(r manager.Runnable) error {
	if _, ok := r.(controller.Controller); ok {
		return d.Manager.Add(r) // it guards each of its reconciliations, and can't be started twice
	}
	return d.Manager.Add(&restarted{loop: r, where: loopName(r), after: func(pause time.Duration) <-chan time.Time { return d.clock().After(pause) }})
}

// restarted is a loop that outlives its panics.
type restarted struct {
	loop  manager.Runnable
	where string
	after func(time.Duration) <-chan time.Time
}

// NeedLeaderElection is that of the loop; without one a loop runs on the leader only, as for the manager.
func (r *restarted) NeedLeaderElection() bool {
	l, ok := r.loop.(manager.LeaderElectionRunnable)
	return !ok || l.NeedLeaderElection()
}

// Start runs the loop until it ends without a panic.
func (r *restarted) Start(ctx context.Context) error {
	for pause := firstRestart; ; pause = min(2*pause, lastRestart) {
		err := guard.Run(r.where, func() error { return r.loop.Start(ctx) })
		var p *guard.Panic
		if !errors.As(err, &p) {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-r.after(pause):
		}
	}
}

// loopName is the package of a loop, which is unique enough for a label.
func loopName(r manager.Runnable) string {
	name, _, _ := strings.Cut(strings.TrimLeft(fmt.Sprintf("%T", r), "*"), ".")
	return "loop." + name
}

// everywhere runs f on every replica, leader or not.
type everywhere func(context.Context) error

func (f everywhere) Start(ctx context.Context) error { return f(ctx) }

func (f everywhere) NeedLeaderElection() bool { return false }
