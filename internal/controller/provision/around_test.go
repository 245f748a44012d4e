package provision

import (
	"slices"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
)

// TestPodsThatCanNotBeDecidedOnAreSetAside: one class of pods that makes the solver panic waits and says so; all others are
// served, and it is tried again after a pause that doubles.
func TestPodsThatCanNotBeDecidedOnAreSetAside(t *testing.T) {
	now, broken, tries := clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)), true, 0
	h := newTestCluster(t, func(o *Options) {
		o.Clock = now
		o.Solve = func(p *pack.Problem) *plan.Plan {
			if broken && slices.ContainsFunc(p.Pending, func(pod *cluster.Pod) bool { return pod.Name == "bad" }) {
				tries++
				panic("broken invariant")
			}
			return pack.Solve(p)
		}
	})
	h.pool("default")
	for i, name := range []string{"a", "b", "bad", "c", "d"} {
		h.pod(name, string(rune('1'+i))) // each is a class of its own
	}
	out, err := h.Decide(t.Context())
	if err != nil || len(out.Created) == 0 {
		t.Fatalf("outcome %+v, %v", out, err)
	}
	pending := func() (names []string) {
		for _, p := range h.cache.Snapshot().Pending {
			names = append(names, p.Name)
		}
		return names
	}
	if got := pending(); !slices.Equal(got, []string{"bad"}) {
		t.Fatalf("pending: %v", got)
	}
	if told := strings.Join(h.told(), " "); !strings.Contains(told, "deciding on it failed, tried again at 03:04:10") || !strings.Contains(told, "broken invariant") {
		t.Errorf("told %q", told)
	}
	first := tries
	for range 60 { // a minute of looks, a second apart
		now.Step(time.Second)
		if _, err := h.Decide(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if more := tries - first; more < 3 || more > 12 {
		t.Errorf("tried %d times more within a minute", more)
	}
	broken = false
	now.Step(lastAside)
	if _, err := h.Decide(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := pending(); len(got) != 0 || len(h.aside) > 1 {
		t.Errorf("once it works: pending %v, aside %v", got, h.aside)
	}
}

// TestASolverThatAlwaysPanicsBlamesNobody: where it is not the pods, none is set aside.
func TestASolverThatAlwaysPanicsBlamesNobody(t *testing.T) {
	broken := true
	h := newTestCluster(t, func(o *Options) {
		o.Solve = func(p *pack.Problem) *plan.Plan {
			if broken {
				panic("broken invariant")
			}
			return pack.Solve(p)
		}
	})
	h.pool("default")
	h.pod("a", "1")
	h.pod("b", "2")
	if _, err := h.Decide(t.Context()); err == nil || !strings.Contains(err.Error(), "broken invariant") || len(h.aside) != 0 {
		t.Errorf("%v, aside %v", err, h.aside)
	}
	broken = false
	if out, err := h.Decide(t.Context()); err != nil || len(out.Created) == 0 {
		t.Errorf("outcome %+v, %v", out, err)
	}
}

// told takes the events that were recorded.
func (h *testCluster) told() []string {
	var out []string
	for len(h.events.Events) > 0 {
		out = append(out, <-h.events.Events)
	}
	return out
}
