package app

import (
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/kerf-sh/kerf/internal/guard"
)

// mostLocked is for how long the lock of the cluster's state may be waited for. It is held for milliseconds at a time, and those who
// wait for it get it in their order: a computer would have to be a thousand times as slow.
const mostLocked = time.Minute

// lockCheck fails while the lock of the cluster's state has been waited for in vain for mostLocked. Whoever holds it for so long
// never gives it back, and nothing but a new process helps: a leader stands still meanwhile, and renews its lease.
type lockCheck struct {
	await func() // returns once the lock could be had
	now   func() time.Time
	log   *slog.Logger

	mu    sync.Mutex
	since time.Time // when the wait began that is under way; zero for none
	told  bool      // the log has it
}

// check begins to wait for the lock, if nobody does, and does not wait itself: who asks may have a shorter patience.
func (l *lockCheck) check(*http.Request) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.since.IsZero() {
		l.since, l.told = l.now(), false
		guard.Go("app.liveness", l.wait)
		return nil
	}
	waited := l.now().Sub(l.since)
	if waited <= mostLocked {
		return nil
	}
	err := fmt.Errorf("the lock of the cluster's state has been waited for since %s; the process has to be restarted, please report it", l.since.UTC().Format(time.RFC3339))
	if !l.told {
		l.told = true
		l.log.Error("not alive", "error", err)
	}
	return err
}

// wait is over, too, when await panics: the lock is no longer waited for.
func (l *lockCheck) wait() {
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.since = time.Time{}
	}()
	l.await()
}
