package cache

import (
	"fmt"
	"maps"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/state/intake"
	"github.com/kerf-sh/kerf/internal/state/reservation"
)

// rivalsOf counts by looking at every pod.
func rivalsOf(c *Cache) rivals {
	out := newRivals()
	for key, e := range c.waiting {
		r, ok := c.reserved.Of(e.obj.UID)
		if !ok {
			continue
		}
		class := e.pod.Class.ID
		out.of[key] = rival{class, r.Unit}
		if out.count[class] == nil {
			out.count[class] = map[reservation.Unit]int{}
		}
		out.count[class][r.Unit]++
	}
	return out
}

func TestRivalsAreThePodsThatWaitForTheirRoom(t *testing.T) {
	most := 0
	rapid.Check(t, func(t *rapid.T) {
		h := drawHistory(t)
		now := time.Unix(0, 0)
		c := New(Options{Now: func() time.Time { return now }})
		for _, e := range rapid.Permutation(h.events).Draw(t, "order") {
			c.take(e)
			switch rapid.IntRange(0, 5).Draw(t, "then") {
			case 0, 1:
				snapshot := c.Snapshot()
				if len(snapshot.Nodes) == 0 {
					break
				}
				var refs []cluster.PodRef
				for _, p := range snapshot.Pending {
					refs = append(refs, p.PodRef)
				}
				c.Reserve(rapid.SampledFrom(snapshot.Nodes).Draw(t, "on"), refs, now.Add(2*time.Second))
			case 2:
				now = now.Add(time.Second)
			}
			if !equalRivals(rivalsOf(c), c.rivals) {
				t.Fatalf("after %T: want %v, got %v", e.obj, rivalsOf(c), c.rivals)
			}
			most = max(most, len(c.rivals.of))
		}
	})
	if most < 2 {
		t.Errorf("%d pods waited for their room at most: the test says nothing", most)
	}
}

func equalRivals(a, b rivals) bool {
	return maps.Equal(a.of, b.of) && maps.EqualFunc(a.count, b.count, maps.Equal)
}

// BenchmarkNominees asks for the pods to nominate to each of 500 new nodes, for which 20 equal pods wait each.
func BenchmarkNominees(b *testing.B) {
	r := newRig()
	for i := range 500 {
		var refs []cluster.PodRef
		for j := range 20 {
			refs = append(refs, r.pod(fmt.Sprint("p-", i, "-", j), func(p *corev1.Pod) { p.Labels = nil }))
		}
		r.Assume(r.claim(fmt.Sprint("c-", i)), intake.Expected{}, refs, r.clock.Add(time.Hour))
	}
	for b.Loop() {
		for i := range 500 {
			if out := r.Nominees(fmt.Sprint("c-", i), "n"); len(out) > 0 {
				b.Fatal(out)
			}
		}
	}
}
