package static

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/obs"
)

type poolList []*karpv1.NodePool

func (p poolList) Pools() []*karpv1.NodePool { return p }

func TestAGateThatIsOffIsToldOnceAnHour(t *testing.T) {
	fixed, free := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{UID: "1"}}, &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{UID: "2"}}
	fixed.Spec.Replicas = new(int64(0))
	events, clk := record.NewFakeRecorder(10), clocktesting.NewFakeClock(start)
	i := &Ignored{State: poolList{fixed, free}, Recorder: events, Clock: clk}
	for _, c := range []struct {
		after time.Duration
		want  int
	}{{0, 1}, {59 * time.Minute, 1}, {time.Minute, 2}} {
		clk.Step(c.after)
		i.Round()
		i.Round()
		if n := len(events.Events); n != c.want {
			t.Errorf("%d events after %s more, want %d", n, c.after, c.want)
		}
	}
}

// panicky is a cache that breaks an assumption once.
type panicky struct{ asked int }

func (p *panicky) Pools() []*karpv1.NodePool {
	if p.asked++; p.asked == 1 {
		panic("oh")
	}
	return nil
}

func TestTellingOfAGateThatIsOffOutlivesAPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
		defer cancel()
		state := &panicky{}
		i := &Ignored{State: state, Metrics: obs.NewMetrics(prometheus.NewRegistry()), Log: slog.New(slog.DiscardHandler), Clock: clock.RealClock{}}
		if err := i.Start(ctx); err != nil || state.asked != 2 {
			t.Errorf("asked %d times in 15 s: %v", state.asked, err)
		}
	})
}
