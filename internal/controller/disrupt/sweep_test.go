package disrupt

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// tainted adds a node that bears the taint, and lets its claim bear the reason.
func (h *testCluster) tainted(name string) Going {
	h.t.Helper()
	g := h.instance(name, func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{karpv1.DisruptedNoScheduleTaint()} })
	claim, err := h.Queue.claim(h.t.Context(), name)
	if err != nil {
		h.t.Fatal(err)
	}
	claim.StatusConditions().SetTrueWithReason(karpv1.ConditionTypeDisruptionReason, "Underutilized", "")
	if err := h.api.Status().Update(h.t.Context(), claim); err != nil {
		h.t.Fatal(err)
	}
	return g
}

func TestAMarkThatIsWrittenAfterTheTakeOverIsTakenOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestCluster(t)
		g, busy := h.tainted("c1"), h.instance("c2")
		node := h.node(g.Node)
		node.Annotations = map[string]string{intake.DisruptingAnnotation: "Underutilized", index.CommandAnnotation: "x", orderAnnotation: "{}"}
		if err := h.api.Update(t.Context(), node); err != nil {
			t.Fatal(err)
		}
		h.cache.SetNode(node)
		if err := h.Start(t.Context(), h.replace(busy, h.bind("p", busy.Node))); err != nil {
			t.Fatal(err)
		}
		time.Sleep(sweepEvery + time.Second)
		if !h.marked(g) {
			t.Error("it may be about to be deleted, and has to be seen twice")
		}
		time.Sleep(sweepEvery)
		if h.marked(g) || h.deleting("c1") {
			t.Error("the node is held by a mark that no command stands behind")
		}
		if !h.marked(busy) {
			t.Error("the mark of a command that is under way is gone")
		}
		h.end()
	})
}

func TestANodeThatCanNotBeWrittenToHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestCluster(t)
		g, other := h.tainted("c1"), h.instance("c2")
		h.failBy(func(verb string, o client.Object) error {
			if o.GetName() == g.Node {
				return apierrors.NewServiceUnavailable("it is refused")
			}
			return nil
		})
		h.start()
		time.Sleep(2 * look)
		if err := h.Start(t.Context(), emptyNodes(other)); err != nil {
			t.Errorf("another node can't go: %v", err)
		}
		h.failBy(nil)
		time.Sleep(2*sweepEvery + time.Second)
		if h.marked(g) {
			t.Error("the leftover is still there after it could be removed")
		}
		h.end()
	})
}

func TestAMarkThatSaysNothingIsTakenOff(t *testing.T) {
	for sentence, edit := range map[string]func(*corev1.Node){
		"of an earlier release": func(*corev1.Node) {},
		"that can't be read": func(n *corev1.Node) {
			n.Annotations[index.CommandAnnotation], n.Annotations[orderAnnotation] = "x", "{"
		},
		"of a node without a claim": func(n *corev1.Node) {
			n.Annotations[index.CommandAnnotation], n.Annotations[orderAnnotation], n.Spec.ProviderID = "x", "{}", "aws:///a/other"
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newTestCluster(t)
				g := h.instance("c1", func(n *corev1.Node) {
					n.Spec.Taints = []corev1.Taint{karpv1.DisruptedNoScheduleTaint()}
					n.Annotations = map[string]string{intake.DisruptingAnnotation: "Empty"}
					edit(n)
				})
				h.start()
				time.Sleep(2*sweepEvery + time.Second)
				if n := h.node(g.Node); intake.Leaving(n) || hasTaint(n) || h.deleting("c1") {
					t.Errorf("annotations %v, taints %v", n.Annotations, n.Spec.Taints)
				}
				h.end()
			})
		})
	}
}

// What is left where the process ends in between has to be found: a taint without a reason would be somebody else's.
func TestAMarkComesOffTheNodeFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestCluster(t)
		g := h.tainted("c1")
		h.failBy(func(_ string, o client.Object) error {
			if o.GetName() == g.Claim {
				return apierrors.NewServiceUnavailable("it is refused")
			}
			return nil
		})
		if err := h.unmark(t.Context(), "", g); err == nil || hasTaint(h.node(g.Node)) {
			t.Errorf("the taint is still there, and the reason on the claim may go: %v", err)
		}
		h.failBy(nil)
		time.Sleep(2*sweepEvery + time.Second)
		if h.marked(g) {
			t.Error("the reason is still there after it could be removed")
		}
		h.end()
	})
}

// A sweep looks at every node and claim each minute, and writes to few: it must not cost a copy of them all.
func TestASweepCopiesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestCluster(t)
		h.instance("c1")
		lists := 0
		h.Client = interceptor.NewClient(h.api, interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			var all client.ListOptions
			all.ApplyOptions(opts)
			if lists++; all.UnsafeDisableDeepCopy == nil || !*all.UnsafeDisableDeepCopy {
				t.Errorf("a sweep copies the %T", list)
			}
			return c.List(ctx, list, opts...)
		}})
		if _, err := h.sweep(t.Context(), nil); err != nil || lists != 2 {
			t.Errorf("%d lists, %v; want 2", lists, err)
		}
		h.end()
	})
}
