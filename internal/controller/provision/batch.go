package provision

import (
	"context"
	"math/bits"
	"sync"
	"time"
)

// batch decides how long to wait for more pods before a decision. A pod on its own waits loneWindow; while pods keep
// coming the wait goes on, and the silence that ends it grows with the burst, up to the settings' bounds: a burst that
// is solved together needs fewer and better machines than one that is solved in pieces.
//
// Concurrency: safe; one goroutine waits.
type batch struct {
	idle, most time.Duration
	now        func() time.Time
	signal     chan struct{} // holds one token while there is something to do

	mu          sync.Mutex
	count       int
	first, last time.Time
}

func newBatch(idle, most time.Duration, now func() time.Time) *batch {
	return &batch{idle: idle, most: most, now: now, signal: make(chan struct{}, 1)}
}

// arrive notes a pod that waits for a node.
func (b *batch) arrive() {
	b.mu.Lock()
	b.last = b.now()
	if b.count == 0 {
		b.first = b.last
	}
	b.count++
	b.mu.Unlock()
	b.raise()
}

// poke asks for a decision without a new pod.
func (b *batch) poke() { b.raise() }

func (b *batch) raise() {
	select {
	case b.signal <- struct{}{}:
	default:
	}
}

// left is how much longer to wait at now; zero or less ends the wait.
func (b *batch) left(began, now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.count == 0 {
		return min(loneWindow, b.idle) - now.Sub(began)
	}
	return min(b.gap()-now.Sub(b.last), b.most-now.Sub(b.first))
}

// gap is the silence that ends the wait: a few times the usual distance between two arrivals, longer the larger the
// burst is, since the cost of splitting it grows too.
func (b *batch) gap() time.Duration {
	if b.count == 1 {
		return min(loneWindow, b.idle)
	}
	usual := b.last.Sub(b.first) / time.Duration(b.count-1)
	gap := max(loneWindow, 4*usual)
	if n := bits.Len(uint(b.count)); n > 2 {
		gap = max(gap, burstWindow*time.Duration(n-2)/2)
	}
	return min(gap, b.idle)
}

// wait returns when the batch is complete, and starts a new one; false when ctx is done.
func (b *batch) wait(ctx context.Context) bool {
	began := b.now()
	for {
		left := b.left(began, b.now())
		if left <= 0 {
			b.reset()
			return ctx.Err() == nil
		}
		timer := time.NewTimer(left)
		select {
		case <-ctx.Done():
			timer.Stop()
			return false
		case <-b.signal:
		case <-timer.C:
		}
		timer.Stop()
	}
}

func (b *batch) reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.count = 0
	select {
	case <-b.signal: // what came until now is in the snapshot that is taken next
	default:
	}
}
