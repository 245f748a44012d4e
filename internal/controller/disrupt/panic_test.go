package disrupt

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

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
		state := h.State
		h.State = nil // which reserve needs
		go func() { _ = h.Run(ctx) }()
		synctest.Wait()
		h.State = state
		time.Sleep(sweepEvery)
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

// What a command has held is let go of though the cache has not seen yet that it is held.
func TestAHoldEndsThoughTheCacheIsBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestCluster(t)
		defer h.end()
		goes, stays := h.instance("c1"), h.instance("c2")
		var before karpv1.NodeClaim
		if err := h.api.Get(t.Context(), client.ObjectKey{Name: stays.Claim}, &before); err != nil {
			t.Fatal(err)
		}
		h.Client = interceptor.NewClient(h.api, interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
				if claim, ok := o.(*karpv1.NodeClaim); ok && key.Name == stays.Claim {
					before.DeepCopyInto(claim)
					return nil
				}
				return c.Get(ctx, key, o, opts...)
			},
			List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
				err := c.List(ctx, l, opts...)
				if claims, ok := l.(*karpv1.NodeClaimList); ok {
					for i := range claims.Items {
						if claims.Items[i].Name == stays.Claim {
							before.DeepCopyInto(&claims.Items[i])
						}
					}
				}
				return err
			},
		})
		c := h.replace(goes, h.bind("p", goes.Node))
		c.NewNodes[0].Pool, c.Filled = "gone", []string{stays.Claim}
		if err := h.Start(t.Context(), c); err == nil {
			t.Fatal("want a refusal")
		}
		if until, why := h.hold(stays.Claim); !until.IsZero() {
			t.Errorf("held until %s (%q), for a command that was taken back", until, why)
		}
	})
}
