package disrupt

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
)

// What consolidation has said of a node does not hide what is said of it once it drifted.
func TestDriftIsToldThoughConsolidationSaidTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestCluster(t)
		defer h.end()
		g := h.instance("c")
		h.bind("p", g.Node, func(p *corev1.Pod) { p.Annotations = map[string]string{karpv1.DoNotDisruptAnnotationKey: "true"} })
		d := h.drift()
		h.run(func(l *Loop) { l.DriftProblem, l.Bare = d.DriftProblem, d.Bare })
		h.pass(time.Minute)
		h.eventsOf("DisruptionBlocked")
		h.mark("c")
		h.pass(30 * time.Second)
		if told := strings.Join(h.eventsOf("DisruptionBlocked"), "\n"); !strings.Contains(told, "it drifted, and stays") {
			t.Errorf("told %q", told)
		}
	})
}

// A leader that has not taken over yet what is under way begins nothing, and loses no time by that.
func TestDriftWaitsForTheTakeover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestCluster(t)
		defer h.end()
		g := h.instance("c")
		for p := range 4 {
			h.bind(fmt.Sprint("p", p), g.Node)
		}
		h.mark("c")
		h.end()
		synctest.Wait()
		d := h.drift()
		h.round(d)
		if !d.drift.rest.IsZero() {
			t.Errorf("rests for %s though nothing was looked for", time.Until(d.drift.rest))
		}
		h.start()
		d.Queue = h.Queue
		time.Sleep(time.Second)
		h.round(d)
		if n := h.going("c"); n != 1 {
			t.Errorf("a second after the takeover %d nodes go", n)
		}
	})
}

// While no places are looked for, what holds up nodes and how many there are is told all the same.
func TestDriftIsLookedAtWhileItRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestCluster(t)
		defer h.end()
		d := h.drift()
		g := h.instance("c")
		slow := d.DriftProblem
		d.DriftProblem = func(ctx context.Context, s *cluster.Snapshot, n int) *pack.Problem {
			time.Sleep(4 * time.Second)
			p := slow(ctx, s, n)
			p.Pools = nil
			return p
		}
		for i := range 4 {
			h.bind(fmt.Sprint("p", i), g.Node)
		}
		h.mark("c")
		h.round(d)
		found := d.HeldUp(g.Node, "default")
		if found == "" || time.Until(d.drift.rest) < time.Minute {
			t.Fatalf("held up by %q, rests for %s", found, time.Until(d.drift.rest))
		}
		h.budgets("0")
		time.Sleep(10 * time.Second)
		h.round(d)
		if why := d.HeldUp("another", "default"); !strings.Contains(why, "budgets leave nothing") {
			t.Errorf("with a budget of 0 nodes the pool is held up by %q", why)
		}
		if why := d.HeldUp(g.Node, "default"); why != found {
			t.Errorf("what the search found is forgotten: %q, was %q", why, found)
		}
		node := h.node(g.Node)
		if err := h.api.Delete(t.Context(), node); err != nil {
			t.Fatal(err)
		}
		h.cache.RemoveNode(node)
		h.round(d)
		if n := testutil.ToFloat64(h.Metrics.Disruption.Eligible.WithLabelValues("drifted")); n != 0 {
			t.Errorf("%v nodes are eligible once the last has gone", n)
		}
	})
}

// A leader that ends between the two steps of taking a mark off leaves a taint that is somebody else's where it is.
func TestATaintOfSomebodyElseOutlivesALeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestCluster(t)
		defer h.end()
		g := h.instance("c1", func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{karpv1.DisruptedNoScheduleTaint()} })
		command := h.replace(g, h.bind("p", g.Node))
		refused, unmarked := false, false // the replacement is, and then the claim's part once the node's is done
		h.failBy(func(verb string, o client.Object) error {
			_, claim := o.(*karpv1.NodeClaim)
			_, node := o.(*corev1.Node)
			switch {
			case verb == "create":
				refused = true
				return errors.New("refused")
			case unmarked && claim:
				return apierrors.NewServiceUnavailable("refused")
			}
			unmarked = unmarked || refused && node
			return nil
		})
		if err := h.Start(t.Context(), command); err == nil {
			t.Fatal("the command has begun")
		}
		h.end()
		synctest.Wait()
		h.failBy(nil)
		h.start()
		time.Sleep(3*sweepEvery + time.Second)
		if !hasTaint(h.node(g.Node)) {
			t.Error("the taint is gone")
		}
	})
}

// What failed long ago stands in the line where it has been due for longest.
func TestAFailureOfLongAgoCostsNoTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestCluster(t)
		defer h.end()
		h.budgets("1")
		first := h.instance("first")
		h.instance("second")
		h.mark("first")
		time.Sleep(time.Second)
		h.mark("second")
		d := h.drift()
		d.drift.backoff.failed([]Going{first}, "no capacity", time.Now())
		time.Sleep(2 * forgive)
		h.round(d)
		if h.going("first") != 1 {
			t.Error("it has lost its turn")
		}
	})
}
