package provision

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/kerf-sh/kerf/internal/state/cache"
)

// batch decides how long to wait for more pods before a decision. The wait ends when no pod has come for idle, and after
// most at the latest: a burst that is decided on together needs fewer and cheaper instances than one in pieces.
//
// It ends after loneWindow already when nobody is to follow: for a pod without an owner that comes by itself, and for the
// pods of one owner that are all it wants. That holds for the first pods after a pause of idle only. Those that
// follow sooner are part of a burst.
//
// Where nodes have gone and no pod waits on which nothing was decided yet, it does not end before the rest is over that the last
// decision asked for.
//
// Concurrency: safe; one goroutine waits.
type batch struct {
	idle, most time.Duration
	clock      clock.Clock
	// missing is how many pods of an owner are still to come; ok is false if that can't be known. It may take its time.
	missing func(context.Context, cache.Owner) (n int, ok bool)
	whole   bool          // the wait never ends before idle
	signal  chan struct{} // holds one token while there is something to do
	more    func() bool   // whether pods are pending on which nothing was decided yet; nil knows of none

	mu          sync.Mutex
	count       int
	first, last time.Time     // arrivals; last is kept from batch to batch
	pause       time.Duration // between the last arrival before the batch and its first
	owner       cache.Owner   // of the first pod
	mixed       bool          // pods came that the owner does not own
	pods        []arrival
	taken       arrivals // of the batch before
	rest        time.Time
	poked       bool // something has changed that ends the rest
}

// arrival is a pod that came.
type arrival struct {
	name  string
	owner cache.Owner
}

// arrivals are the pods of a batch that is complete.
type arrivals struct {
	pods []arrival
	// first is when the first of them came; zero when none did.
	first time.Time
	// stream is set when more are likely to follow: pods came until the wait ended, or had come shortly before it began.
	stream bool
	// flows is set when pods came until the wait ended: whoever creates them was still at it.
	flows bool
}

func newBatch(idle, most time.Duration, c clock.Clock) *batch {
	return &batch{idle: idle, most: most, clock: c, signal: make(chan struct{}, 1)}
}

// arrive notes a pod that waits for a node.
func (b *batch) arrive(pod string, owner cache.Owner) {
	b.mu.Lock()
	now := b.clock.Now()
	if b.count == 0 {
		b.first, b.pause, b.owner, b.mixed = now, now.Sub(b.last), owner, false
	} else if owner != b.owner || owner.UID == "" {
		b.mixed = true
	}
	b.last = now
	b.count++
	b.pods = append(b.pods, arrival{pod, owner})
	b.mu.Unlock()
	b.raise()
}

// poke asks for a decision without a new pod.
func (b *batch) poke() {
	b.mu.Lock()
	b.poked = true
	b.mu.Unlock()
	b.raise()
}

// churn asks for a decision since nodes come and go; while the loop rests, once it does no more or more has something to decide on.
func (b *batch) churn() { b.raise() }

// restFor keeps churn waiting for a time.
func (b *batch) restFor(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rest = b.clock.Now().Add(d)
}

// restLeft is how much longer the loop rests; 0 or less where it does not.
func (b *batch) restLeft() time.Duration {
	b.mu.Lock()
	left, poked := b.rest.Sub(b.clock.Now()), b.poked
	b.mu.Unlock()
	if poked || left > 0 && b.more != nil && b.more() {
		return 0
	}
	return left
}

func (b *batch) raise() {
	select {
	case b.signal <- struct{}{}:
	default:
	}
}

// left is how much longer to wait for more pods; zero or less ends the wait. A wait that began without any is short.
func (b *batch) left(ctx context.Context, began time.Time) time.Duration {
	b.mu.Lock()
	now, count, first, last, owner := b.clock.Now(), b.count, b.first, b.last, b.owner
	alone := b.pause >= b.idle && !b.mixed && !b.whole
	b.mu.Unlock()
	if count == 0 {
		if left := min(loneWindow, b.idle) - now.Sub(began); left > 0 {
			return left
		}
		return b.restLeft()
	}
	silence := now.Sub(last)
	left := min(b.idle-silence, b.most-now.Sub(first))
	if !alone || left <= 0 {
		return left
	}
	if soon := loneWindow - silence; soon > 0 {
		return min(soon, left)
	}
	if b.complete(ctx, owner, count) {
		return 0
	}
	return left
}

// complete reports whether so many pods of an owner are all that are to come.
func (b *batch) complete(ctx context.Context, owner cache.Owner, count int) bool {
	if owner.UID == "" || b.missing == nil {
		return count == 1
	}
	ctx, cancel := context.WithTimeout(ctx, b.idle)
	defer cancel()
	n, ok := b.missing(ctx, owner)
	if !ok {
		return count == 1
	}
	return n <= 0
}

// wait returns when the batch is complete, and starts a new one; false when ctx is done.
func (b *batch) wait(ctx context.Context) bool {
	began := b.clock.Now()
	for {
		left := b.left(ctx, began)
		if left <= 0 {
			b.reset()
			return ctx.Err() == nil
		}
		timer := b.clock.NewTimer(left)
		select {
		case <-ctx.Done():
			timer.Stop()
			return false
		case <-b.signal:
		case <-timer.C():
		}
		timer.Stop()
	}
}

func (b *batch) reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.clock.Now()
	flows := b.count > 0 && now.Sub(b.last) < b.idle
	b.taken = arrivals{pods: b.pods, first: b.first, flows: flows, stream: b.count > 0 && b.pause <= b.most || flows && now.Sub(b.first) >= b.most}
	b.count, b.pods = 0, nil
	b.poked = false
	select {
	case <-b.signal: // what came until now is in the snapshot that is taken next
	default:
	}
}

// take returns the pods of the batch that was waited for last, once.
func (b *batch) take() arrivals {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := b.taken
	b.taken = arrivals{}
	return out
}
