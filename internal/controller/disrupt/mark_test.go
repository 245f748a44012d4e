package disrupt

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

func TestATaintThatSomebodyElsePutThereStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestCluster(t)
		g := h.instance("c1", func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{karpv1.DisruptedNoScheduleTaint()} })
		if err := h.Start(t.Context(), emptyNodes(g)); err != nil {
			t.Fatal(err)
		}
		h.bind("p", g.Node)
		time.Sleep(Settle + look)
		if n := h.node(g.Node); !hasTaint(n) || intake.Leaving(n) {
			t.Errorf("want the taint without the mark: %v %v", n.Spec.Taints, n.Annotations)
		}
		h.start() // nor does a new leader touch it
		if !hasTaint(h.node(g.Node)) {
			t.Error("a new leader removed a taint that was not Kerf's")
		}
		h.end()
	})
}

// The drain that follows counts from it, and does not wait once more until the scheduler has seen the taint.
func TestATaintSaysSinceWhenItIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestCluster(t)
		g := h.instance("c1")
		began := time.Now()
		if err := h.Start(t.Context(), emptyNodes(g)); err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(h.node(g.Node).Spec.Taints, isOurTaint)
		if i < 0 {
			t.Fatal("there is no taint")
		}
		if since := h.node(g.Node).Spec.Taints[i].TimeAdded; since == nil || since.Sub(began).Abs() > time.Second {
			t.Errorf("the taint is there since %v, want %v", since, began)
		}
		h.end()
	})
}
