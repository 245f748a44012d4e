package terminate

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/guard"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// prompt is how long a worker waits for what the cloud says of an instance. It says it within a second, as a rule. Where it hangs, a
// call takes minutes until it is given up, and other nodes have pods to move meanwhile.
const prompt = 2 * time.Second

// asks are the ends of instances that a controller has asked for and not heard of yet. The zero value is ready to use.
//
// Concurrency: safe; one instance is asked for by one goroutine at a time.
type asks struct {
	mu sync.Mutex
	of map[string]*ask // by provider ID
}

type ask struct {
	done chan struct{}
	// outcome and err are the cloud's, once done.
	outcome Outcome
	err     error
}

// end is Terminator.End beside the caller, who waits for a prompt answer only: after that the outcome is Asked, until one who
// asks again finds that the cloud has answered.
func (a *asks) end(ctx context.Context, provider cloud.Provider, c clock.Clock, providerID string, claim *karpv1.NodeClaim) (Outcome, error) {
	t := Terminator{provider, c}
	a.mu.Lock()
	one, before := a.of[providerID]
	if !before {
		one = &ask{done: make(chan struct{})}
		if a.of == nil {
			a.of = map[string]*ask{}
		}
		a.of[providerID] = one
		guard.Go("terminate.end", func() {
			defer close(one.done)
			one.err = guard.Run("terminate.end", func() (err error) {
				one.outcome, err = t.End(ctx, providerID, nil)
				return err
			})
		})
	}
	a.mu.Unlock()
	if !one.answered(ctx, c, before) {
		return Asked, nil
	}
	a.forget(providerID)
	if one.outcome == Ending && one.err == nil {
		t.note(claim)
	}
	return one.outcome, one.err
}

// forget drops the ask of an instance that is not asked about any more.
func (a *asks) forget(providerID string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.of, providerID)
}

// answered reports whether the cloud has answered, and waits a moment for one who has just asked.
func (o *ask) answered(ctx context.Context, c clock.Clock, before bool) bool {
	select {
	case <-o.done:
		return true
	default:
	}
	if before {
		return false
	}
	late := c.NewTimer(prompt)
	defer late.Stop()
	select {
	case <-o.done:
		return true
	case <-late.C():
	case <-ctx.Done():
	}
	return false
}
