package static

import (
	"context"
	"slices"
	"sync"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

// waiting are those who wait for the end of a round that begins after they asked.
//
// Concurrency: safe.
type waiting struct {
	mu   sync.Mutex
	next chan struct{} // is closed at the end of the next round that begins; nil where nobody waits for it
	vain bool          // somebody waited in vain, and no round has ended since
}

// add is nil where a round takes so long that somebody has waited for it in vain.
func (w *waiting) add() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.vain {
		return nil
	}
	if w.next == nil {
		w.next = make(chan struct{})
	}
	return w.next
}

func (w *waiting) inVain() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.vain = true
}

// take returns a function that tells those who wait now.
func (w *waiting) take() (tell func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	ended := w.next
	w.next = nil
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.vain = false
		if ended != nil {
			close(ended)
		}
	}
}

// Settle has the loop make a round and returns when that has ended, or ctx: what static NodePools lack now is launched then. Pods of
// their nodes that go find its room, and nothing else is launched for them. It returns at once where there is no static NodePool, and while
// a round is under way that somebody has waited for in vain.
//
// Concurrency: safe.
func (c *Controller) Settle(ctx context.Context) {
	if !slices.ContainsFunc(c.o.State.Pools(), (*karpv1.NodePool).IsStatic) {
		return
	}
	done := c.waiting.add()
	if done == nil {
		return
	}
	c.poke()
	select {
	case <-done:
	case <-ctx.Done():
		c.waiting.inVain()
	}
}
