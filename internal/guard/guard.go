// Package guard starts everything that runs beside its caller. A panic there does not end the process: it becomes an error
// of the one thing that was being done, is counted, and is told with its stack.
//
// Product code starts goroutines and timers' functions through this package only; lint_test.go at the root of the module
// refuses other ways.
package guard

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// Panic is the error that a panic becomes.
type Panic struct {
	// Where says what was being done, as a short name out of a small set: it is a label of a metric.
	Where string
	Value any
	Stack []byte

	told atomic.Bool
}

// First reports, once, that nobody was told of the panic yet: it may be an error of several callers on its way.
func (p *Panic) First() bool { return !p.told.Swap(true) }

func (p *Panic) Error() string {
	return fmt.Sprintf("%s: panic: %v (a defect of Kerf; please report it)", p.Where, p.Value)
}

// Catch calls fn. A panic becomes a *Panic, which nobody is told of but the caller.
func Catch(where string, fn func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &Panic{Where: where, Value: v, Stack: debug.Stack()}
		}
	}()
	return fn()
}

// Run is Catch, and tells the listeners of a panic, unless somebody was told of it already.
func Run(where string, fn func() error) error {
	err := Catch(where, fn)
	var p *Panic
	if errors.As(err, &p) && p.First() {
		Tell(p)
	}
	return err
}

// Go calls fn beside the caller. Nobody learns that it has ended; a panic is told to the listeners.
func Go(where string, fn func()) {
	go func() { _ = Run(where, plain(fn)) }()
}

// AfterFunc calls fn after d, as time.AfterFunc does.
func AfterFunc(d time.Duration, where string, fn func()) *time.Timer {
	return time.AfterFunc(d, func() { _ = Run(where, plain(fn)) })
}

func plain(fn func()) func() error { return func() error { fn(); return nil } }

// Group runs functions beside the caller and waits for them. The zero Group has no limit.
//
// Concurrency: with a Limit, Go and Wait are called by one goroutine; without, Go is safe for many, as WaitGroup.Go is.
type Group struct {
	// Limit is how many run at once; Go waits for a place. 0: any number.
	Limit int

	slots chan struct{}
	wait  sync.WaitGroup
	mu    sync.Mutex
	errs  []error
}

// Go calls fn beside the caller. A panic is told to the listeners and becomes an error of Wait.
func (g *Group) Go(where string, fn func() error) {
	if g.Limit > 0 {
		if g.slots == nil {
			g.slots = make(chan struct{}, g.Limit)
		}
		g.slots <- struct{}{}
	}
	g.wait.Add(1)
	go func() {
		defer g.wait.Done()
		err := Run(where, fn)
		g.mu.Lock()
		if err != nil {
			g.errs = append(g.errs, err)
		}
		g.mu.Unlock()
		if g.slots != nil {
			<-g.slots
		}
	}()
}

// Wait waits until all have returned. Its error joins theirs, in the order in which they ended; the Group can be used again.
func (g *Group) Wait() error {
	g.wait.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	err := errors.Join(g.errs...)
	g.errs = nil
	return err
}

// AfterDone calls fn beside the caller once ctx is done, as context.AfterFunc does.
func AfterDone(ctx context.Context, where string, fn func()) (stop func() bool) {
	return context.AfterFunc(ctx, func() { _ = Run(where, plain(fn)) })
}
