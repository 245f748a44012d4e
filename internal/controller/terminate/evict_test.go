package terminate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestWhenAPodMustGo(t *testing.T) {
	const left = 5 * time.Minute // until the instance ends
	for name, tc := range map[string]struct {
		change func(*corev1.Pod)
		ends   bool // the instance does
		goes   bool
		again  time.Duration // when it is to be asked again; 0 for never
	}{
		"the instance has no end":                    {takes(math.MaxInt64), false, false, 0},
		"it has time enough":                         {takes(60), true, false, left - time.Minute + time.Millisecond},
		"it needs all the time that is left":         {takes(301), true, true, 0},
		"its grace period is longer than a Duration": {takes(1e10), true, true, 0},
		"its grace period is the longest there is":   {takes(math.MaxInt64), true, true, 0},
		"it ends in time":                            {ending(time.Minute, 60), true, false, 0},
		"it ends too late":                           {ending(10*time.Minute, 600), true, true, 0},
		"it was given its last second":               {ending(10*time.Minute, 1), true, false, 0},
		// The API server adds the seconds to its time as they are.
		"it ends in three centuries": {ending(overflown(1e10), 1e10), true, true, 0},
		"it never ends":              {ending(overflown(math.MaxInt64), math.MaxInt64), true, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := &round{now: noon, memory: &memory{deleted: map[types.UID]deletion{}}}
			if tc.ends {
				r.by = end{noon.Add(left)}
			}
			p := pod("a", tc.change)
			if got := r.mustGo(&p); got != tc.goes || r.next.IsZero() != (tc.again == 0) || tc.again != 0 && r.next.Sub(noon) != tc.again {
				t.Errorf("goes: %t, want %t; again at %s", got, tc.goes, r.next)
			}
		})
	}
}

func overflown(seconds int64) time.Duration { return time.Duration(seconds) * time.Second }

// Only the eviction API tells Jobs and others that a pod was disrupted and has not failed. What it says no to is deleted: the instance
// goes.
func TestAPodWhoseInstanceEndsIsEvictedFirst(t *testing.T) {
	budget := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 0)
	budget.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: policyv1.DisruptionBudgetCause, Message: "the budget needs 1 healthy pod"}}
	for name, tt := range map[string]struct {
		answer error
		calls  []string
		counts float64 // evictions
	}{
		"it is evicted":     {nil, []string{"evict a 60"}, 1},
		"its budget is out": {budget, []string{"delete a 60", "evict a 60"}, 0},
		"it has two":        {apierrors.NewInternalError(errors.New("more than one PodDisruptionBudget")), []string{"delete a 60", "evict a 60"}, 0},
		"a webhook refuses": {apierrors.NewForbidden(corev1.Resource("pods"), "a", errors.New("a policy says no")), []string{"delete a 60", "evict a 60"}, 0},
		"no answer":         {errors.New("connection refused"), []string{"delete a 60", "evict a 60"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := admit(t, time.Minute, pod("a", held("true"), takes(90)))
			w.eviction = func(context.Context) error { return tt.answer }
			if calls, after := w.look(0); !slices.Equal(calls, tt.calls) || after != answers {
				t.Errorf("it asked for %v, want %v, and looks again after %s", calls, tt.calls, after)
			}
			var said []string
			for len(w.events.Events) > 0 {
				if e := <-w.events.Events; !strings.Contains(e, "TerminationGracePeriodExpiring") {
					said = append(said, e)
				}
			}
			if len(said) != 1 || !strings.HasPrefix(said[0], "Warning Disrupted has to end because its node goes at") || len(w.Stalls()) != 0 {
				t.Errorf("events %q, stalls %+v", said, w.Stalls())
			}
			if n := testutil.ToFloat64(w.Metrics.PodsDrained.WithLabelValues("Forceful Termination")); n != 1 {
				t.Errorf("%g pods are counted as drained", n)
			}
			if n := testutil.ToFloat64(w.Metrics.EvictionRequests.WithLabelValues("200")); n != tt.counts || testutil.CollectAndCount(w.Metrics.EvictionRequests) != 1 {
				t.Errorf("%g evictions are counted, want %g, in %d series, want 1", n, tt.counts, testutil.CollectAndCount(w.Metrics.EvictionRequests))
			}
		})
	}
}

// What an answer took is time that the pod does not have any more.
func TestAPodIsDeletedInTheTimeThatIsLeftThen(t *testing.T) {
	w := admit(t, time.Minute, pod("a", takes(90)))
	w.eviction = func(context.Context) error {
		w.clock.Step(3 * time.Second)
		return errors.New("a webhook took its time and says no")
	}
	if calls, _ := w.look(0); !slices.Equal(calls, []string{"delete a 57", "evict a 60"}) {
		t.Errorf("it asked for %v", calls)
	}
}

// Evictions that a webhook holds take little of the time that the pods have left, however many they are.
func TestEvictionsThatAreNotAnsweredCostTheirPodsLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var pods []corev1.Pod
		for i := range 3 * atOnce {
			pods = append(pods, pod(fmt.Sprintf("p%02d", i), takes(90)))
		}
		w := admit(t, time.Minute, pods...)
		w.eviction = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		begun := time.Now()
		calls, _ := w.look(0)
		if took := time.Since(begun); took != evictedFirst {
			t.Errorf("it took %s, want %s", took, evictedFirst)
		}
		deleted := 0
		for _, c := range calls {
			if strings.HasPrefix(c, "delete") {
				deleted++
			}
		}
		if deleted != len(pods) {
			t.Errorf("%d of %d are deleted", deleted, len(pods))
		}
	})
}
