package reservation

import (
	"sync"
	"time"
)

const (
	// emptyFor is how long a reservation counts as empty after EC2 has said so, or has begun to take it back, whatever EC2
	// says of it meanwhile.
	emptyFor = time.Minute
	// forget is how long what became of an instance is remembered: longer than any description is believed.
	forget = 10 * time.Minute
)

// Ledger counts how many instances each reservation still holds: as many as EC2 said last, less those that were launched since,
// and those that have ended since on top.
//
// Instances that are asked for and not launched yet are not counted: the engine knows them by their NodeClaims.
type Ledger struct {
	now func() time.Time

	mu     sync.Mutex
	counts map[string]*count
	ending map[string]string // instance that is being ended → reservation
}

// count is what is known of one reservation.
type count struct {
	available  int
	asOf       time.Time            // when EC2 was asked
	launched   map[string]time.Time // instance → when
	ended      map[string]time.Time
	emptyUntil time.Time
}

// NewLedger returns a Ledger that knows nothing.
func NewLedger(now func() time.Time) *Ledger {
	return &Ledger{now: now, counts: map[string]*count{}, ending: map[string]string{}}
}

func (l *Ledger) ofLocked(id string) *count {
	c := l.counts[id]
	if c == nil {
		c = &count{launched: map[string]time.Time{}, ended: map[string]time.Time{}}
		l.counts[id] = c
	}
	return c
}

// Seen tells what EC2 said of a reservation, when asked at the given time.
func (l *Ledger) Seen(id string, available int, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.ofLocked(id)
	if at.Before(c.asOf) {
		return
	}
	c.available, c.asOf = available, at
	old := at.Add(-forget)
	for _, m := range []map[string]time.Time{c.launched, c.ended} {
		for instance, when := range m {
			if when.Before(old) {
				delete(m, instance)
			}
		}
	}
}

// Launched tells that an instance was launched out of a reservation. It may be told so again. One that counts as empty stays so:
// nobody asks for it, so the instance is of a request that was made before, and may have been the last that there was.
func (l *Ledger) Launched(id, instance string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.ofLocked(id)
	if _, known := c.launched[instance]; !known {
		c.launched[instance] = l.now()
	}
}

// Empty tells that a reservation had no instance left, or is being taken back.
func (l *Ledger) Empty(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c, now := l.ofLocked(id), l.now()
	c.available, c.asOf, c.emptyUntil = 0, now, now.Add(emptyFor)
	clear(c.launched)
	clear(c.ended)
}

// Ending tells that an instance out of a reservation is being ended.
func (l *Ledger) Ending(id, instance string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ending[instance] = id
}

// Ended tells that an instance is gone; those that are not out of a reservation are passed over.
func (l *Ledger) Ended(instance string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	id, known := l.ending[instance]
	if !known {
		return
	}
	delete(l.ending, instance)
	l.ofLocked(id).ended[instance] = l.now()
}

// Left is how many instances a reservation still holds. known is false for one that EC2 has said nothing of yet.
func (l *Ledger) Left(id string) (left int, known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.counts[id]
	if c == nil || c.asOf.IsZero() {
		return 0, false
	}
	if l.now().Before(c.emptyUntil) {
		return 0, true
	}
	left = c.available
	for _, when := range c.launched {
		if !when.Before(c.asOf) {
			left--
		}
	}
	for _, when := range c.ended {
		if !when.Before(c.asOf) {
			left++
		}
	}
	return max(left, 0), true
}
