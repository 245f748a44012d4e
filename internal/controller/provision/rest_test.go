package provision

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
)

// TestTheLoopRestsWhereNothingCouldBeDone: with a pod that has no place anywhere, nodes that come and go do not have the loop decide without
// end. Pods on which nothing was decided yet end the rest.
func TestTheLoopRestsWhereNothingCouldBeDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		h := newTestCluster(t, func(o *Options) {
			solve := pack.NewEngine().Solve
			o.Solve = func(p *pack.Problem) *plan.Plan {
				time.Sleep(time.Second)
				return solve(p)
			}
		})
		h.pool("default")
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "n", ResourceVersion: h.version()}}
		node.Status.Allocatable = corev1.ResourceList{"cpu": resource.MustParse("8"), "pods": resource.MustParse("10")}
		h.cache.SetNode(node)
		h.pod("runs", "3", func(p *corev1.Pod) { p.Spec.NodeName, p.Status.Conditions = "n", nil })
		h.pod("huge", "1000")
		churn := func(pokes int) (decisions int) {
			before := len(h.count.passes())
			for range pokes {
				time.Sleep(100 * time.Millisecond)
				h.Trigger()
			}
			return len(h.count.passes()) - before
		}
		h.run(ctx)
		time.Sleep(2 * time.Second)
		if n := churn(100); n < 1 || n > 3 {
			t.Errorf("%d decisions in 10 seconds; want one in six", n)
		}
		await := func(what string, within time.Duration) {
			t.Helper()
			before, began := len(h.count.passes()), time.Now()
			for len(h.count.passes()) == before && time.Since(began) < 20*time.Second {
				time.Sleep(10 * time.Millisecond)
			}
			if took := time.Since(began); took > within {
				t.Errorf("%s is decided on after %s, want %s at most", what, took, within)
			}
		}
		atRest := func() {
			await("the next", 20*time.Second)
			time.Sleep(100 * time.Millisecond)
			h.Trigger()
			time.Sleep(100 * time.Millisecond)
		}
		atRest()
		h.pod("huge", "1001")
		await("a pod that changed", 1100*time.Millisecond)
		atRest()
		going := node.DeepCopy()
		going.DeletionTimestamp, going.ResourceVersion = new(metav1.Now()), h.version()
		h.cache.SetNode(going)
		await("a pod whose node goes", 1100*time.Millisecond)
	})
}

func TestWhatTakesThePlaceOfNodesIsTheSameWhileNothingChanges(t *testing.T) {
	h := newTestCluster(t)
	h.pool("default")
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "n", ResourceVersion: h.version(), DeletionTimestamp: new(metav1.Now())}}
	node.Status.Allocatable = corev1.ResourceList{"cpu": resource.MustParse("8"), "pods": resource.MustParse("10")}
	h.cache.SetNode(node)
	hold := func(name string) {
		h.pod(name, "3", func(p *corev1.Pod) {
			p.Spec.NodeName, p.Status.Conditions = "n", nil
			p.Annotations = map[string]string{karpv1.DoNotDisruptAnnotationKey: "true"}
		})
	}
	hold("held")
	ask := func() *cluster.Node { return h.Problem(t.Context(), h.cache.Snapshot()).Nodes[0] }
	first := ask()
	if first.Deleting || len(first.Pods) != 1 {
		t.Fatalf("%+v", first)
	}
	if again := ask(); again != first {
		t.Error("it is another, though nothing has changed")
	}
	hold("another")
	if next := ask(); next == first || len(next.Pods) != 2 {
		t.Errorf("with one more pod: %+v", next)
	}
}
