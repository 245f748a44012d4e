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
			err := q.Metrics.Recover(q.Log, loop, func() error { return q.Start(ctx, c) })
			var unmet *apply.RefusedError
			switch {
			case err == nil:
				one.Lock()
				defer one.Unlock()
				begun(i)
			case errors.As(err, &unmet), moot(err):
				refused[i] = err // it is in the log
			case !errors.Is(err, ErrNotRunning) && !errors.Is(err, ErrBusy):
				return fmt.Errorf("starting %s: %w", c.String(), err)
			}
			return nil
		})
	}
	return refused, all.Wait()
}

// moot reports whether a command could not begin because one of its nodes had gone, or was part of another one.
func moot(err error) bool {
	return errors.Is(err, errGone) || errors.Is(err, errOtherMark) || apierrors.IsNotFound(err)
}
