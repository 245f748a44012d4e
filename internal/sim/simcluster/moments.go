package simcluster

import (
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"
)

// moments makes clocks whose timers end at nanoseconds that are theirs alone. In a bubble time goes on once everybody is at rest. So a
// loop that wakes finds that the others have done what they had to, and is done itself before the next wakes: it does not matter
// in which order, and how far, the processor runs those that were to wake at the same moment.
type moments struct{ made atomic.Int64 }

// own is the period in which each clock has one nanosecond; so many clocks can be made.
const own = 10_000

// clock makes the next clock.
func (m *moments) clock() clock.WithTicker {
	return &ownClock{at: m.made.Add(1) % own}
}

// ownClock is a clock of the bubble whose timers end up to ten microseconds later than they were asked to.
type ownClock struct {
	clock.RealClock
	at int64
}

// until is how long a timer for d runs.
func (c *ownClock) until(d time.Duration) time.Duration {
	d = max(d, 1)
	off := (c.at - time.Now().Add(d).UnixNano()) % own
	return d + time.Duration((off+own)%own)
}

func (c *ownClock) After(d time.Duration) <-chan time.Time { return c.RealClock.After(c.until(d)) }
func (c *ownClock) Sleep(d time.Duration)                  { c.RealClock.Sleep(c.until(d)) }
func (c *ownClock) Tick(d time.Duration) <-chan time.Time  { return c.NewTicker(d).C() }
func (c *ownClock) NewTimer(d time.Duration) clock.Timer {
	return &ownTimer{c.RealClock.NewTimer(c.until(d)), c}
}
func (c *ownClock) NewTicker(d time.Duration) clock.Ticker {
	t := &ownTicker{c: make(chan time.Time, 1), every: d, clock: c}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.timer = time.AfterFunc(c.until(d), t.tick)
	return t
}

type ownTimer struct {
	clock.Timer
	clock *ownClock
}

func (t *ownTimer) Reset(d time.Duration) bool { return t.Timer.Reset(t.clock.until(d)) }

type ownTicker struct {
	c     chan time.Time
	every time.Duration
	clock *ownClock

	mu    sync.Mutex
	timer *time.Timer // nil once it is stopped
}

func (t *ownTicker) tick() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.timer == nil {
		return
	}
	select {
	case t.c <- time.Now():
	default: // who reads it is behind
	}
	t.timer.Reset(t.clock.until(t.every))
}

func (t *ownTicker) C() <-chan time.Time { return t.c }

func (t *ownTicker) Stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.timer != nil {
		t.timer.Stop()
		t.timer = nil
	}
}
