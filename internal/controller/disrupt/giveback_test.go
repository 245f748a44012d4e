package disrupt

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/apply"
	"github.com/kerf-sh/kerf/internal/controller/index"
)

func TestAStepThatFailsIsTriedLessAndLessOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestCluster(t)
		g := h.instance("c1")
		if err := h.Start(t.Context(), emptyNodes(g)); err != nil {
			t.Fatal(err)
		}
		var tries atomic.Int64
		h.failBy(func(verb string, _ client.Object) error {
			if verb != "delete" {
				return nil
			}
			tries.Add(1)
			return apierrors.NewServiceUnavailable("down")
		})
		time.Sleep(Settle + 5*time.Minute)
		// After 1, 2, 4, 8 and 16 seconds, and then every 30.
		if n := tries.Load(); n < 12 || n > 16 {
			t.Errorf("tried %d times in five minutes", n)
		}
		h.failBy(nil)
		time.Sleep(mostAgain)
		if !h.deleting("c1") || h.Busy("c1") {
			t.Error("it does not go when it can")
		}
		h.end()
	})
}

func TestAReplacementWhoseCreationHadNoAnswerIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestCluster(t)
		g := h.instance("c1")
		lost := interceptor.NewClient(h.api, interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
				if len(h.replacements()) == 0 {
					if err := c.Create(ctx, o, opts...); err != nil {
						t.Error(err)
					}
				}
				return errors.New("connection reset by peer")
			},
		})
		h.Launcher = apply.New(apply.Options{Client: lost, State: h.cache, Recorder: h.events})
		if err := h.Start(t.Context(), h.replace(g, h.bind("p", g.Node))); err == nil {
			t.Fatal("no error")
		}
		launched := h.replacements()
		if len(launched) != 1 || launched[0].DeletionTimestamp.IsZero() || h.marked(g) || h.Busy("c1") {
			t.Errorf("want one replacement, on its way out, and a node without a mark: %v, marked: %t", launched, h.marked(g))
		}
		h.end()
	})
}

func TestAReplacementThatComesTooLateIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestCluster(t)
		g := h.instance("c1")
		if err := h.Start(t.Context(), h.replace(g, h.bind("p", g.Node))); err != nil {
			t.Fatal(err)
		}
		late := func(name string) *karpv1.NodeClaim {
			c := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Annotations: map[string]string{index.CommandAnnotation: "of a leader that ended"}}}
			c.Spec.NodeClassRef = h.pool.Spec.Template.Spec.NodeClassRef
			if err := h.api.Create(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			return c
		}
		late("late")
		h.initialize(late("there"))
		time.Sleep(sweepEvery + time.Second)
		if h.deleting("late") {
			t.Error("its command may just be about to begin, and it has to be seen twice")
		}
		time.Sleep(sweepEvery)
		if !h.deleting("late") || h.deleting("there") {
			t.Errorf("the one without an instance goes: %t; the other one, which pods may have reached: %t", h.deleting("late"), h.deleting("there"))
		}
		if len(h.replacements()) != 2 || !h.marked(g) {
			t.Errorf("%d replacements are left, want the one that is waited for and the one that is there", len(h.replacements()))
		}
		h.end()
	})
}

func TestANodeThatIsGoneIsNoSetback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestCluster(t)
		var landed []string
		h.Finished = func(_ Command, failed string) { landed = append(landed, failed) }
		gone, there := h.instance("c1"), h.instance("c2")
		if err := h.api.Delete(t.Context(), h.node(gone.Node)); err != nil {
			t.Fatal(err)
		}
		c := h.replace(there, h.bind("p", there.Node))
		c.Nodes = append(c.Nodes, gone)
		if err := h.Start(t.Context(), c); err == nil || h.marked(there) || h.Busy("c2") {
			t.Fatalf("it was begun: %v", err)
		}
		if len(landed) != 0 {
			t.Errorf("what the pool waits for: %q", landed)
		}
		c.Nodes = c.Nodes[:1]
		c.NewNodes[0].Pool = "gone"
		if err := h.Start(t.Context(), c); err == nil || len(landed) != 1 {
			t.Errorf("a refusal counts: %v, %q", err, landed)
		}
		h.end()
	})
}

// What is under way when a leader ends is the next one's: it is not over.
func TestACommandThatALeaderLeavesIsNotOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestCluster(t)
		g := h.instance("c1")
		var over []string
		h.Finished = func(c Command, failed string) { over = append(over, c.ID+failed) }
		if err := h.Start(t.Context(), h.replace(g, h.bind("p", g.Node))); err != nil {
			t.Fatal(err)
		}
		h.end()
		synctest.Wait()
		if len(over) > 0 || !h.marked(g) {
			t.Errorf("it waits for its replacement, and is told to be over: %q", over)
		}
	})
}
