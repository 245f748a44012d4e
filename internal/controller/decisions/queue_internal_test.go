package decisions

import (
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/record"
)

// waits is a decision that leaves a pod without a place; room one that finds room for it; launch one that launches a node.
func waits(generation uint64, pod string) *record.Decision {
	return of(generation, &plan.Plan{Unplaced: []plan.Unplaced{{Pods: []cluster.PodRef{{Name: pod}}}}})
}

func room(generation uint64, pod string) *record.Decision {
	return of(generation, &plan.Plan{Placements: []plan.Placement{{Node: "n", Pods: []cluster.PodRef{{Name: pod}}}}})
}

func launch(generation uint64) *record.Decision {
	return of(generation, &plan.Plan{NewNodes: []plan.NewNode{{Pool: "default"}}})
}

func of(generation uint64, p *plan.Plan) *record.Decision {
	return &record.Decision{ID: fmt.Sprint("id-", generation), Problem: &pack.Problem{Generation: generation}, Plan: p}
}

func generations(r *Ring) (all, written []uint64) {
	for _, s := range r.List() {
		all = append(all, s.Generation)
		if s.Bytes > 0 {
			written = append(written, s.Generation)
		}
	}
	return all, written
}

func expect(t *testing.T, r *Ring, all, written []uint64) {
	t.Helper()
	synctest.Wait()
	if gotAll, gotWritten := generations(r); !slices.Equal(gotAll, all) || !slices.Equal(gotWritten, written) {
		t.Errorf("keeps %v, of them written %v; want %v and %v", gotAll, gotWritten, all, written)
	}
}

func TestWhatIsSaidAgainIsNotWrittenUntilSomebodyAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRing(10, 1<<20, slog.New(slog.DiscardHandler))
		r.Add(waits(1, "a"))
		expect(t, r, []uint64{1}, []uint64{1})
		for g := range uint64(50) {
			r.Add(waits(2+g, "a"))
			synctest.Wait()
		}
		expect(t, r, []uint64{51}, nil)
		if s := r.List()[0]; s.ID != "id-51" || s.Repeated != 50 {
			t.Errorf("the list says %+v", s)
		}
		if d, err := r.Decision("id-1"); err != nil || d.Problem.Generation != 1 {
			t.Error(err) // it is written, and not gone
		}
		for _, id := range []string{"id-30", "id-51", Latest, "id-1"} {
			if d, err := r.Decision(id); err != nil || d.Problem.Generation != 51 {
				t.Errorf("%s: %v", id, err)
			}
		}
		expect(t, r, []uint64{51}, []uint64{51})
		// Nor does it hold what it is made of for ever.
		r.Add(waits(51, "a"))
		time.Sleep(still - time.Second)
		expect(t, r, []uint64{51}, nil)
		r.Add(waits(51, "a"))
		time.Sleep(still - time.Second)
		expect(t, r, []uint64{51}, nil)
		time.Sleep(time.Second)
		expect(t, r, []uint64{51}, []uint64{51})
		// Nor is the last of them lost when something else is said.
		r.Add(waits(52, "a"))
		r.Add(launch(53))
		expect(t, r, []uint64{53, 52}, []uint64{53, 52})
	})
}

func TestTheWriterRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRing(20, 1<<20, slog.New(slog.DiscardHandler))
		rest := func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.restFor(time.Minute)
		}
		rest()
		r.Add(room(1, "a"))
		r.Add(waits(2, "b"))
		r.Add(waits(3, "b"))
		expect(t, r, []uint64{3, 1}, nil)
		time.Sleep(time.Minute)
		expect(t, r, []uint64{3, 1}, []uint64{3, 1})

		rest()
		r.Add(launch(4))
		expect(t, r, []uint64{4, 3, 1}, []uint64{3, 1})
		if d, err := r.Decision("id-1"); err != nil || d.Problem.Generation != 1 {
			t.Error(err)
		}
		expect(t, r, []uint64{4, 3, 1}, []uint64{3, 1}) // what is written is read without haste
		if d, err := r.Decision("id-4"); err != nil || d.Problem.Generation != 4 {
			t.Error(err)
		}
		expect(t, r, []uint64{4, 3, 1}, []uint64{4, 3, 1})
	})
}

func TestTheQueueLosesWhatNobodyAsksAbout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRing(20, 1<<20, slog.New(slog.DiscardHandler))
		r.mu.Lock()
		r.restFor(time.Minute)
		r.mu.Unlock()
		want := []uint64{}
		for g := range uint64(queueMost - 1) {
			r.Add(launch(g))
			r.Add(room(100+g, fmt.Sprint("pod-", g)))
			want = append([]uint64{g}, want...)
		}
		expect(t, r, append([]uint64{100 + queueMost - 2}, want...), nil)
		// No launch is lost for a rest.
		r.Add(launch(50))
		expect(t, r, append([]uint64{50}, want...), nil)
		r.Add(launch(51))
		want = append([]uint64{51, 50}, want...)
		expect(t, r, want, want)
	})
}
