package interruption

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// done is what this process has already asked for about one claim: the cache may not show it yet, and two messages about
// one instance may come in the same moment.
//
// Who acts on the claim holds its turn, over calls to the apiserver; another who waits for it heeds its context.
type done struct {
	turn     chan struct{} // holds one while somebody acts
	deleted  atomic.Bool
	why      bool            // it is written what takes the instance
	deadline time.Time       // the earliest that was written; zero: none
	off      map[string]bool // scheduled work that was called off, by the id of its event
}

// ledger holds a done for each claim that was acted on.
type ledger struct {
	mu    sync.Mutex
	byUID map[types.UID]*done
}

func (l *ledger) of(uid types.UID) *done {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byUID == nil {
		l.byUID = map[types.UID]*done{}
	}
	if l.byUID[uid] == nil {
		l.byUID[uid] = &done{turn: make(chan struct{}, 1)}
	}
	return l.byUID[uid]
}

// keep forgets all claims but those that are there.
func (l *ledger) keep(there map[types.UID]bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for uid := range l.byUID {
		if !there[uid] {
			delete(l.byUID, uid)
		}
	}
}

// sooner reports whether a deadline at or before the given one was written already.
func (d *done) sooner(than time.Time) bool { return !d.deadline.IsZero() && !d.deadline.After(than) }

// begun reports whether this process has deleted a claim.
func (l *ledger) begun(uid types.UID) bool {
	return l.of(uid).deleted.Load()
}

// take waits for the turn to act on the claim.
func (d *done) take(ctx context.Context) error {
	select {
	case d.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// leave ends the turn.
func (d *done) leave() { <-d.turn }
