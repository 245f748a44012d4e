package disrupt

import (
	"context"
	"errors"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kerf-sh/kerf/internal/controller/apply"
	"github.com/kerf-sh/kerf/internal/guard"
)

// starts is how many commands are begun at a time.
const starts = 8

// startAll begins commands, several at a time, for a loop that decides anew in a moment. It calls begun for each as soon as that
// has, one at a time. refused says what has changed since the decision where that is why a command was not begun, which is no error.
func (q *Queue) startAll(ctx context.Context, loop string, commands []Command, begun func(i int)) (refused []error, err error) {
	refused = make([]error, len(commands))
	all := guard.Group{Limit: starts}
	var one sync.Mutex
	for i, c := range commands {
		all.Go(loop, func() error {
			ok, why, err := q.try(ctx, loop, c)
			if refused[i] = why; ok {
				one.Lock()
				defer one.Unlock()
				begun(i)
			}
			return err
		})
	}
	return refused, all.Wait()
}

// try is Start for a loop that decides anew in a moment. It reports whether the command was begun. That the cluster has changed
// since the decision is in the log, and no error: refused says what has.
func (q *Queue) try(ctx context.Context, loop string, c Command) (begun bool, refused, err error) {
	err = q.Metrics.Recover(q.Log, loop, func() error { _, err := q.Start(ctx, c); return err })
	var unmet *apply.RefusedError
	switch {
	case err == nil:
		return true, nil, nil
	case errors.Is(err, ErrNotRunning), errors.Is(err, ErrBusy):
		return false, nil, nil
	case errors.As(err, &unmet), moot(err):
		return false, err, nil
	}
	return false, nil, fmt.Errorf("starting %s: %w", c.String(), err)
}

// moot reports whether a command could not begin because one of its nodes had gone, or was part of another one.
func moot(err error) bool {
	return errors.Is(err, errGone) || errors.Is(err, errOtherMark) || apierrors.IsNotFound(err)
}
