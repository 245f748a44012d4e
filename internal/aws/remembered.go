package aws

import (
	"context"
	"sync"
	"time"
)

// remembered is a fact that somebody else knows, asked for when it is missing or old. One question at a time is on its way
// and its answer serves all; an old answer is better than none, and is given at once while another is asked for.
type remembered[T any] struct {
	mu     sync.Mutex
	known  bool
	value  T
	at     time.Time     // of value
	asking chan struct{} // closed when the question that is on its way has ended; nil while there is none
	tried  time.Time     // when the last question failed
	err    error         // of that question, nil if it was not answered because whoever asked gave up
}

// patience is how long a fact is believed, and how long who knows it is left alone after it failed: while there is an older
// answer, and while there is none.
type patience struct{ age, pause, soon time.Duration }

// peek is what is known, however old.
func (r *remembered[T]) peek() (T, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.value, r.known
}

// get is the fact. Who has to wait for somebody else's question waits as long as ctx.
//
// Errors: that of ask, while nothing is known; or that of ctx.
func (r *remembered[T]) get(ctx context.Context, now func() time.Time, p patience, ask func(context.Context) (T, error)) (T, error) {
	for {
		r.mu.Lock()
		value, known, err, wait, t := r.value, r.known, r.err, r.asking, now()
		fresh := known && (t.Sub(r.at) < p.age || wait != nil || !r.tried.IsZero() && t.Sub(r.tried) < p.pause)
		if known {
			err = nil
		} else if t.Sub(r.tried) >= p.soon {
			err = nil // long enough ago to try again
		}
		if fresh || err != nil {
			r.mu.Unlock()
			return value, err
		}
		if wait == nil {
			r.asking = make(chan struct{})
			r.mu.Unlock()
			return r.ask(ctx, now, ask)
		}
		r.mu.Unlock()
		select {
		case <-wait:
		case <-ctx.Done():
			return value, ctx.Err()
		}
	}
}

// ask asks, and lets all know who wait.
func (r *remembered[T]) ask(ctx context.Context, now func() time.Time, ask func(context.Context) (T, error)) (T, error) {
	answered := false
	var value T
	var err error
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		close(r.asking)
		r.asking = nil
		if answered && err == nil {
			r.known, r.value, r.at, r.tried, r.err = true, value, now(), time.Time{}, nil
			return
		}
		r.tried, r.err = now(), nil
		if ctx.Err() == nil {
			r.err = err
		}
	}()
	value, err = ask(ctx)
	answered = true
	if err != nil {
		if old, ok := r.peek(); ok {
			return old, nil
		}
	}
	return value, err
}
