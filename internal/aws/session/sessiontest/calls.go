// Package sessiontest counts the calls of a session where they are made, for tests that judge how many there were. A
// service counts a call only after it has answered it, which a test may not wait for.
package sessiontest

import (
	"context"
	"errors"
	"maps"
	"sync"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"
)

// Calls counts calls by operation; attempts of one call count once.
//
// Concurrency: safe.
type Calls struct {
	mu sync.Mutex
	by map[string]int

	wire  sync.RWMutex // held by every attempt while it is on the wire
	ended bool
}

// End is the death of the process: attempts on the wire are waited for, and none follows them, not even as the retry of
// a call that began before.
func (c *Calls) End() {
	c.wire.Lock()
	defer c.wire.Unlock()
	c.ended = true
}

var errEnded = errors.New("the process that made this call is dead")

// Middleware is for session.Options.
func (c *Calls) Middleware() []func(*middleware.Stack) error {
	count := middleware.InitializeMiddlewareFunc("CountCalls", func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
		c.mu.Lock()
		if c.by == nil {
			c.by = map[string]int{}
		}
		c.by[awsmiddleware.GetOperationName(ctx)]++
		c.mu.Unlock()
		return next.HandleInitialize(ctx, in)
	})
	attempt := middleware.FinalizeMiddlewareFunc("EndCalls", func(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (middleware.FinalizeOutput, middleware.Metadata, error) {
		c.wire.RLock()
		defer c.wire.RUnlock()
		if c.ended {
			return middleware.FinalizeOutput{}, middleware.Metadata{}, errEnded
		}
		return next.HandleFinalize(ctx, in)
	})
	return []func(*middleware.Stack) error{
		func(s *middleware.Stack) error { return s.Initialize.Add(count, middleware.After) },
		// Behind the retries, so that each attempt passes.
		func(s *middleware.Stack) error { return s.Finalize.Add(attempt, middleware.After) },
	}
}

// Of is how often an operation was called.
func (c *Calls) Of(operation string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.by[operation]
}

// All is the count of every operation.
func (c *Calls) All() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.by)
}

// Reset begins to count anew.
func (c *Calls) Reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.by)
}
