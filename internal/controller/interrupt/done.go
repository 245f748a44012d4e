package interrupt

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// done is what this process has already asked for about one claim: the cache may not show it yet, and two messages about
// one machine may come in the same moment.
type done struct {
	mu       sync.Mutex
	deleted  bool
	why      bool      // it is written what takes the machine
	deadline time.Time // the earliest that was written; zero: none
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
		l.byUID[uid] = &done{}
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
	d := l.of(uid)
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.deleted
}
