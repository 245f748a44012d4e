// Package batch joins calls that come close together into one: callers with equal keys wait a moment for each other, one
// function serves them all, and each gets its own result.
package batch

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/kerf-sh/kerf/internal/guard"
)

// errNoResult is what a caller gets when the run function returned fewer results than it had items.
var errNoResult = errors.New("the batch gave no result for this item")

// Result is what one item of a batch came to.
type Result[Out any] struct {
	Value Out
	Err   error
}

// Options bound how long a batch waits.
type Options struct {
	// Idle ends a batch when nothing was added for so long, Max when so much time has passed since its first item, Items
	// when it has so many.
	Idle, Max time.Duration
	Items     int
	// Joined is told of each batch how many items it has and how long the first of them waited for the others; nil is told
	// nothing. It must not block.
	Joined func(items int, waited time.Duration)
}

// Batcher collects items by key.
//
// Concurrency: safe for use by many goroutines. Batches of different keys, and successive ones of a key, run in parallel.
type Batcher[Key comparable, In, Out any] struct {
	opts Options
	run  func(ctx context.Context, key Key, items []In) []Result[Out]

	mu   sync.Mutex
	open map[Key]*pending[In, Out]
}

type pending[In, Out any] struct {
	items    []In
	begun    time.Time
	deadline time.Time
	timer    *time.Timer
	closed   bool
	done     chan struct{}
	results  []Result[Out]
}

// New makes a Batcher. run returns one result for each item, in order; it is called without the context of any single
// caller, because it works for all of them.
func New[Key comparable, In, Out any](opts Options, run func(context.Context, Key, []In) []Result[Out]) *Batcher[Key, In, Out] {
	return &Batcher[Key, In, Out]{opts: opts, run: run, open: map[Key]*pending[In, Out]{}}
}

// Do adds an item and waits for its result. When ctx ends first, the item is served nonetheless; only its result is lost.
func (b *Batcher[Key, In, Out]) Do(ctx context.Context, key Key, item In) (Out, error) {
	p, i := b.add(ctx, key, item)
	select {
	case <-p.done:
		if i >= len(p.results) {
			var zero Out
			return zero, errNoResult
		}
		return p.results[i].Value, p.results[i].Err
	case <-ctx.Done():
		var zero Out
		return zero, ctx.Err()
	}
}

func (b *Batcher[Key, In, Out]) add(ctx context.Context, key Key, item In) (*pending[In, Out], int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.open[key]
	if p == nil {
		now := time.Now()
		p = &pending[In, Out]{begun: now, deadline: now.Add(b.opts.Max), done: make(chan struct{})}
		b.open[key] = p
		detached := context.WithoutCancel(ctx)
		p.timer = guard.AfterFunc(min(b.opts.Idle, b.opts.Max), "aws.batch", func() { b.close(detached, key, p) })
	} else {
		p.timer.Reset(min(b.opts.Idle, max(0, time.Until(p.deadline))))
	}
	p.items = append(p.items, item)
	if b.opts.Items > 0 && len(p.items) >= b.opts.Items {
		// No longer open: what comes now begins another batch, and this one runs at once.
		delete(b.open, key)
		p.timer.Reset(0)
	}
	return p, len(p.items) - 1
}

// close runs a batch once; a timer that fires a second time finds it closed.
func (b *Batcher[Key, In, Out]) close(ctx context.Context, key Key, p *pending[In, Out]) {
	b.mu.Lock()
	if p.closed {
		b.mu.Unlock()
		return
	}
	p.closed = true
	if b.open[key] == p {
		delete(b.open, key)
	}
	b.mu.Unlock()
	defer close(p.done)
	if b.opts.Joined != nil {
		// Whoever listens keeps no item from being served.
		_ = guard.Run("aws.batch", func() error { b.opts.Joined(len(p.items), time.Since(p.begun)); return nil })
	}
	err := guard.Run("aws.batch", func() error { p.results = b.run(ctx, key, p.items); return nil })
	if err != nil {
		p.results = make([]Result[Out], len(p.items))
		for i := range p.results {
			p.results[i].Err = err
		}
	}
}
