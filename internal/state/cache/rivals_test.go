package cache

import (
	"fmt"
	"maps"
	"slices"
	"strings"
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
				for _, p := range snapshot.Pending {
					c.Reserve(rapid.SampledFrom(snapshot.Nodes).Draw(t, "on"), []cluster.PodRef{p.PodRef}, now.Add(2*time.Second))
				}
			case 2:
				now = now.Add(time.Second)
			case 3:
				c.bindToOthersRoom()
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

// bindToOthersRoom binds a pod that waits for its room to a node where a pod like it waits for its own, if there is one.
func (c *Cache) bindToOthersRoom() {
	for _, key := range slices.SortedFunc(maps.Keys(c.rivals.of), func(a, b podKey) int { return strings.Compare(a.Name, b.Name) }) {
		for _, node := range []string{"n0", "n1", "c0"} {
			for _, unit := range c.unitsOf(node) {
				if unit == c.rivals.of[key].unit || c.waitingLike(c.waiting[key], unit).UID == "" {
					continue
				}
				pod := c.waiting[key].obj.DeepCopy()
				pod.Spec.NodeName = node
				pod.ResourceVersion += "0" // newer
				c.SetPod(pod)
				return
			}
		}
	}
}

func TestWhenPodsOfOtherInstancesAreRivals(t *testing.T) {
	plain := func(*corev1.Pod) {}
	for name, tt := range map[string]struct {
		first  [2]func(*corev1.Pod) // p0 and p1, which have room on c0
		second []func(*corev1.Pod)  // those that have room on c1
		want   []string
	}{
		"nobody else waits":             {[2]func(*corev1.Pod){plain, plain}, nil, nil},
		"one like both":                 {[2]func(*corev1.Pod){plain, plain}, []func(*corev1.Pod){plain}, nil},
		"another one":                   {[2]func(*corev1.Pod){plain, plain}, []func(*corev1.Pod){larger}, []string{"p0", "p1"}},
		"two differ, and nobody":        {[2]func(*corev1.Pod){plain, larger}, nil, nil},
		"two differ, one like the one":  {[2]func(*corev1.Pod){plain, larger}, []func(*corev1.Pod){plain}, []string{"p0", "p1"}},
		"two differ, one like the next": {[2]func(*corev1.Pod){plain, larger}, []func(*corev1.Pod){larger}, []string{"p0", "p1"}},
		"two differ, and both":          {[2]func(*corev1.Pod){plain, larger}, []func(*corev1.Pod){plain, larger}, []string{"p0", "p1"}},
	} {
		t.Run(name, func(t *testing.T) {
			r, _, _ := assumed()
			r.pod("p0", tt.first[0])
			r.pod("p1", tt.first[1])
			var refs []cluster.PodRef
			for i, edit := range tt.second {
				refs = append(refs, r.pod(fmt.Sprint("q", i), edit))
			}
			r.Assume(r.claim("c1"), intake.Expected{}, refs, r.clock.Add(time.Minute))
			if got := r.nominees("c0"); !slices.Equal(got, tt.want) {
				t.Errorf("%v are nominated, want %v", got, tt.want)
			}
		})
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
