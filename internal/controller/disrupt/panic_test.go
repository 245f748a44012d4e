package disrupt

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/apply"
	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/guard"
)

// A panic as a command begins, or as that is taken back, leaves its nodes as they were.
func TestAPanicLeavesNoNodeMarked(t *testing.T) {
	for sentence, breaks := range map[string]func(h *testCluster, c *Command){
		"as replacements are launched": func(h *testCluster, _ *Command) { h.Launcher = nil },
		"as it is taken back": func(h *testCluster, c *Command) {
			c.NewNodes[0].Pool = "gone"
			marked := false
			h.failBy(func(_ string, o client.Object) error {
				if _, ok := o.(*karpv1.NodeClaim); ok && marked {
					panic("planted")
				} else if ok {
					marked = true // the next write holds it
				}
				return nil
			})
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newTestCluster(t)
				defer h.end()
				g := h.instance("c1")
				c := h.replace(g, h.bind("p", g.Node))
				breaks(h, &c)
				err := h.Start(t.Context(), c)
				if p, refused := (*guard.Panic)(nil), (*apply.RefusedError)(nil); !errors.As(err, &p) && !errors.As(err, &refused) {
					t.Errorf("Start: %v", err)
				}
				synctest.Wait()
				h.failBy(nil)
				time.Sleep(mostAgain)
				if h.marked(g) || h.Busy(g.Claim) {
					t.Errorf("marked: %v, busy: %v; want neither", h.marked(g), h.Busy(g.Claim))
				}
			})
		})
	}
}

// A takeover that ends in a panic is made again, and no command is carried out twice for it.
func TestAPanicOfATakeoverIsNoSecondExecution(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestCluster(t)
		a, b := h.instance("c1"), h.instance("c2")
		for id, g := range map[string]Going{"first": a, "second": b} {
			c := h.replace(g, h.bind("of-"+id, g.Node))
			c.ID = id
			if err := h.Start(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		h.end()
		synctest.Wait()
		// The first is taken back, which takes a while; the second is gone on with.
		for _, claim := range h.replacements() {
			if claim.Annotations[index.CommandAnnotation] == "first" {
				claim.Finalizers = nil
				if err := errors.Join(h.api.Update(t.Context(), &claim), h.api.Delete(t.Context(), &claim)); err != nil {
					t.Fatal(err)
				}
			}
		}
		h.failBy(func(string, client.Object) error { return apierrors.NewServiceUnavailable("down") })
		ctx, cancel := context.WithCancel(t.Context())
		h.ready()
		h.Log = slog.New(&panicsOnce{Handler: slog.DiscardHandler, at: 2}) // as it tells of the second
		go func() { _ = h.Run(ctx) }()
		synctest.Wait()
		if h.Busy("c1") || h.Busy("c2") {
			t.Error("a command is carried out though the takeover failed")
		}
		time.Sleep(takeOverAgain)
		synctest.Wait()
		if !h.Busy("c1") || !h.Busy("c2") {
			t.Error("the commands were not taken over")
		}
		if n := testutil.ToFloat64(h.Metrics.Disruption.InFlight); n != 2 {
			t.Errorf("%v executions of 2 commands", n)
		}
		cancel()
	})
}

// panicsOnce is a log that panics at the n-th takeover of a command that it is told of.
type panicsOnce struct {
	slog.Handler
	at int
}

func (h *panicsOnce) Enabled(context.Context, slog.Level) bool { return true }

func (h *panicsOnce) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "took over a disruption" {
		if h.at--; h.at == 0 {
			panic("planted")
		}
	}
	return nil
}

// A command whose room can't be reserved holds up no other.
func TestRoomThatCanNotBeReservedHoldsUpNoTakeover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestCluster(t)
		g, other := h.instance("c1"), h.instance("c2")
		if err := h.Start(t.Context(), h.replace(g, h.bind("p", g.Node))); err != nil {
			t.Fatal(err)
		}
		h.end()
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		h.ready()
		state := h.State
		h.State = nil // which reserve needs
		go func() { _ = h.Run(ctx) }()
		synctest.Wait()
		h.State = state
		if err := h.Start(ctx, emptyNodes(other)); err != nil || !h.Busy("c1") {
			t.Errorf("another command: %v; the first is taken over: %v", err, h.Busy("c1"))
		}
		cancel()
	})
}
