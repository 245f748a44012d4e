package static

import (
	"context"
	"testing"
	"time"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
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

// hangs is a cloud that does not answer.
type hangs struct{ asked chan struct{} }

func (h hangs) Types(ctx context.Context, _ *awsv1.EC2NodeClass) ([]*catalog.Type, error) {
	h.asked <- struct{}{}
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestNobodyWaitsForARoundThatHangsTwice: other pools have nothing to do with it.
func TestNobodyWaitsForARoundThatHangsTwice(t *testing.T) {
	h := newTestCluster(t, 2)
	cloud := hangs{make(chan struct{})}
	h.o.Shop.Types = cloud
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- h.Start(ctx) }()
	<-cloud.asked
	short, stop := context.WithCancel(ctx)
	stop()
	h.Settle(short) // in vain
	h.Settle(ctx)   // returns all the same
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}
