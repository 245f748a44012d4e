package provision

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
)

// eight adds a node of 8 processors to the cache.
func (h *testCluster) eight(name string, edit ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), ResourceVersion: h.version()}}
	n.Status.Allocatable = corev1.ResourceList{"cpu": resource.MustParse("8"), "pods": resource.MustParse("10")}
	for _, e := range edit {
		e(n)
	}
	h.cache.SetNode(n)
	return n
}

// searching has the search for a plan take a time.
func searching(d *atomic.Int64) func(*Options) {
	return func(o *Options) {
		solve := pack.NewEngine().Solve
		o.Solve = func(p *pack.Problem) *plan.Plan {
			time.Sleep(time.Duration(d.Load()))
			return solve(p)
		}
	}
}

func takes(d time.Duration) *atomic.Int64 {
	var out atomic.Int64
	out.Store(int64(d))
	return &out
}

// launches runs the loop until it has launched something, for a minute at most, and returns how long that took.
func (h *testCluster) launches(ctx context.Context) time.Duration {
	began := time.Now()
	h.run(ctx)
	for len(h.claims()) == 0 && time.Since(began) < time.Minute {
		time.Sleep(10 * time.Millisecond)
	}
	return time.Since(began)
}

func going(n *corev1.Node) { n.DeletionTimestamp = new(metav1.Now()) }

// TestTheLoopRestsWhereNothingCouldBeDone: with a pod that has no place anywhere, nodes that come and go do not have the loop decide without
// end. Everything else ends the rest, and a new one begins after it.
func TestTheLoopRestsWhereNothingCouldBeDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		search := takes(time.Second)
		h := newTestCluster(t, searching(search))
		h.pool("default")
		h.eight("n")
		h.pod("runs", "3", func(p *corev1.Pod) { p.Spec.NodeName, p.Status.Conditions = "n", nil })
		h.pod("huge", "1000")
		churn := func() {
			time.Sleep(100 * time.Millisecond)
			h.cache.RemoveNode(h.eight("gone-" + h.version()))
			h.eight("going-"+h.version(), going)
		}
		h.run(ctx)
		rests := func(after string, churns, least, most int) {
			t.Helper()
			time.Sleep(1500 * time.Millisecond) // the decision itself
			before := len(h.count.passes())
			for range churns {
				churn()
			}
			if n := len(h.count.passes()) - before; n < least || n > most {
				t.Errorf("after %s: %d decisions while %d nodes come and go; want %d to %d", after, n, churns, least, most)
			}
		}
		decides := func(what string, ends func()) {
			t.Helper()
			// In the middle of a rest.
			before := len(h.count.passes())
			for len(h.count.passes()) == before {
				churn()
			}
			churn()
			before = len(h.count.passes())
			ends()
			time.Sleep(loneWindow + time.Millisecond)
			within := time.Second + 100*time.Millisecond
			if strings.Contains(what, "lost") {
				within += time.Second // others may lose theirs, too
			}
			if began := time.Now(); len(h.count.passes()) == before {
				for len(h.count.passes()) == before && time.Since(began) < 20*time.Second {
					time.Sleep(10 * time.Millisecond)
				}
				if took := time.Since(began); took > within {
					t.Errorf("%s is decided on after %s", what, took)
				}
			}
			rests(what, 100, 1, 3)
		}
		rests("the start", 100, 1, 3)
		decides("a pod that changed", func() { h.pod("huge", "1001") })
		decides("a pod whose node goes", func() { h.eight("n", going) })
		decides("a pool that changed", func() {
			h.pool("default", func(p *karpv1.NodePool) { p.Spec.Limits = karpv1.Limits{"cpu": resource.MustParse("100")} })
		})
		decides("an offering that is there again", h.Trigger)
		decides("a new pod", func() { h.pod("another", "1000") })
		decides("a pod that is launched for", func() { h.pod("fits", "1") })
		limit := func(cpu string) {
			h.pool("default", func(p *karpv1.NodePool) { p.Spec.Limits = karpv1.Limits{"cpu": resource.MustParse(cpu)} })
		}
		limit("0")
		h.pod("waits", "1")
		decides("a limit", func() { limit("100") })
		h.pod("waits", "2") // it does not fit what was launched for it
		h.pod("waits", "1")
		decides("an instance that is lost", func() {
			for _, c := range h.claims() {
				h.cache.RemoveClaim(&c)
			}
		})
		search.Store(int64(4 * time.Second))
		time.Sleep(2 * SafetyInterval)
		rests("a long search", 600, 4, 5)
		cancel()
		time.Sleep(4 * time.Second)
	})
}

// TestAPodThatLosesItsNodeDoesNotWaitForTheRest though the last decision was on it: that had a place for it.
func TestAPodThatLosesItsNodeDoesNotWaitForTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		h := newTestCluster(t, searching(takes(2*time.Second)))
		h.pool("default")
		h.eight("n")
		h.pod("p", "3")
		h.run(ctx)
		time.Sleep(2500 * time.Millisecond)
		h.pod("p", "3", func(p *corev1.Pod) { p.Spec.NodeName, p.Status.Conditions = "n", nil })
		h.eight("n", going)
		time.Sleep(2500 * time.Millisecond)
		if len(h.claims()) != 1 {
			t.Error("nothing is launched for it")
		}
		cancel()
		time.Sleep(2 * time.Second)
	})
}

// TestPodsWhoseRoomIsTakenAreDecidedOnSoon: nothing else tells that the room is taken.
func TestPodsWhoseRoomIsTakenAreDecidedOnSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var h *testCluster
		taken := false
		h = newTestCluster(t, func(o *Options) {
			solve := pack.NewEngine().Solve
			o.Solve = func(p *pack.Problem) *plan.Plan {
				out := solve(p)
				if len(out.Placements) > 0 && !taken {
					taken = true
					h.pod("other", "7", func(p *corev1.Pod) { p.Spec.NodeName, p.Status.Conditions = "n", nil })
				}
				return out
			}
		})
		h.pool("default")
		h.eight("n")
		h.pod("p", "3")
		if took := h.launches(ctx); !taken || took > 2*time.Second {
			t.Errorf("room taken: %v; launched after %s", taken, took)
		}
	})
}

// TestWhatWaitsForAnAnswerDoesNotRest: a class whose types come late is decided on when they come, also by a leader that is new.
func TestWhatWaitsForAnAnswerDoesNotRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		h := newTestCluster(t, func(o *Options) {
			types := o.Types
			o.Types = typesAfter{types, typesPatience + 200*time.Millisecond}
			searching(takes(500 * time.Millisecond))(o)
		})
		h.pool("default")
		h.pod("p", "1")
		if took := h.launches(ctx); took > typesPatience+2*time.Second {
			t.Errorf("launched after %s", took)
		}
	})
}

// typesAfter answers late.
type typesAfter struct {
	TypeSource
	late time.Duration
}

func (s typesAfter) Types(ctx context.Context, class *awsv1.EC2NodeClass) ([]*catalog.Type, error) {
	time.Sleep(s.late)
	return s.TypeSource.Types(ctx, class)
}

func TestWhatTakesThePlaceOfNodesIsTheSameWhileNothingChanges(t *testing.T) {
	h := newTestCluster(t)
	h.pool("default")
	h.eight("n", going)
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
