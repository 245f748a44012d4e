package static

import (
	"context"
	"testing"
	"time"
)

// TestWhatANodeThatGoesLeavesMissingIsLaunchedOnceSettled: whoever plans its pods afterwards sees the replacement.
func TestWhatANodeThatGoesLeavesMissingIsLaunchedOnceSettled(t *testing.T) {
	h := newTestCluster(t, 2)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	ended := make(chan error)
	go func() { ended <- h.Start(ctx) }()
	h.Settle(ctx)
	h.want(2, "once settled")
	h.join()
	if err := h.api.Delete(t.Context(), h.claims()[0]); err != nil {
		t.Fatal(err)
	}
	h.watch()
	h.Settle(ctx)
	h.want(2, "once settled after one goes")
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	h.Settle(ctx) // no loop runs, and the context has ended
}
