package world

import (
	"container/heap"
	"context"
	"sync"
	"time"
)

// Clock is where the world takes its time and its timers from.
type Clock interface {
	Now() time.Time
	// AfterFunc calls f once d has passed, on a goroutine of the clock's choosing.
	AfterFunc(d time.Duration, f func()) Timer
}

// Timer is a pending call. Stop tells whether it came before the call.
type Timer interface{ Stop() bool }

// RealClock is the instance's own clock.
type RealClock struct{}

// Now returns the instance's time in UTC.
func (RealClock) Now() time.Time { return time.Now().UTC() }

// AfterFunc is time.AfterFunc.
func (RealClock) AfterFunc(d time.Duration, f func()) Timer { return time.AfterFunc(d, f) }

// ManualClock stands still until a test advances it. Due calls run on the goroutine that advances, in order of their
// time and, at one time, in the order in which they were asked for.
type ManualClock struct {
	mu    sync.Mutex
	now   time.Time
	seq   int
	queue timerQueue
}

// NewManualClock makes a clock that shows start.
func NewManualClock(start time.Time) *ManualClock { return &ManualClock{now: start.UTC()} }

// Now returns the time that the clock shows.
func (c *ManualClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// AfterFunc puts f on the clock's list. A duration of zero or less still waits for the next Advance.
func (c *ManualClock) AfterFunc(d time.Duration, f func()) Timer {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seq++
	t := &manualTimer{clock: c, at: c.now.Add(max(d, 0)), seq: c.seq, call: f}
	heap.Push(&c.queue, t)
	return t
}

// Advance moves the clock by d and runs all that becomes due on the way, including what those calls ask for in turn.
func (c *ManualClock) Advance(d time.Duration) {
	c.mu.Lock()
	end := c.now.Add(d)
	for len(c.queue) > 0 && !c.queue[0].at.After(end) {
		t := heap.Pop(&c.queue).(*manualTimer)
		if t.at.After(c.now) {
			c.now = t.at
		}
		c.mu.Unlock()
		t.call()
		c.mu.Lock()
	}
	c.now = end
	c.mu.Unlock()
}

// Waiting returns how many calls are pending.
func (c *ManualClock) Waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.queue)
}

type manualTimer struct {
	clock *ManualClock
	at    time.Time
	seq   int
	index int // place in the queue, -1 once it has left
	call  func()
}

func (t *manualTimer) Stop() bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	if t.index < 0 {
		return false
	}
	heap.Remove(&t.clock.queue, t.index)
	return true
}

type timerQueue []*manualTimer

func (q timerQueue) Len() int { return len(q) }
func (q timerQueue) Less(i, j int) bool {
	if !q[i].at.Equal(q[j].at) {
		return q[i].at.Before(q[j].at)
	}
	return q[i].seq < q[j].seq
}
func (q timerQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i]; q[i].index, q[j].index = i, j }
func (q *timerQueue) Push(x any) {
	t := x.(*manualTimer)
	t.index = len(*q)
	*q = append(*q, t)
}
func (q *timerQueue) Pop() any {
	old := *q
	t := old[len(old)-1]
	*q = old[:len(old)-1]
	t.index = -1
	return t
}

// Sleep waits for d by the world's clock, or until ctx ends or the world closes; it then returns an error.
func (w *World) Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	done := make(chan struct{})
	t := w.clock.AfterFunc(d, func() { close(done) })
	defer t.Stop()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-w.closed:
		return ErrClosed
	}
}
