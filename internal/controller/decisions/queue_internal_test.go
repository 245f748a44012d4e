package decisions

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
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
			r.rested = time.Now().Add(time.Minute)
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
		r.rested = time.Now().Add(time.Minute)
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

// TestTheWriterRestsAsLongAsItsWorkAsks: ten times as long as it took to write the last.
func TestTheWriterRestsAsLongAsItsWorkAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRing(20, 1<<20, slog.New(slog.DiscardHandler))
		r.encode = takes(time.Second)
		r.Add(launch(1))
		r.Add(launch(2))
		time.Sleep(time.Second)
		expect(t, r, []uint64{2, 1}, []uint64{1})
		time.Sleep(leisure*time.Second + time.Second - 1)
		expect(t, r, []uint64{2, 1}, []uint64{1})
		time.Sleep(time.Nanosecond)
		expect(t, r, []uint64{2, 1}, []uint64{2, 1})
		// Where somebody waits for the last, all are written without a rest; afterwards there is one again.
		for g := range uint64(3) {
			r.Add(launch(3 + g))
		}
		began := time.Now()
		if d, err := r.Decision(Latest); err != nil || d.Problem.Generation != 5 || time.Since(began) != 3*time.Second {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		r.Add(launch(6))
		time.Sleep(leisure * time.Second)
		expect(t, r, []uint64{6, 5, 4, 3, 2, 1}, []uint64{5, 4, 3, 2, 1})
		time.Sleep(time.Second)
		expect(t, r, []uint64{6, 5, 4, 3, 2, 1}, []uint64{6, 5, 4, 3, 2, 1})
	})
	synctest.Test(t, func(t *testing.T) {
		r := NewRing(20, 1<<20, slog.New(slog.DiscardHandler))
		r.encode = takes(still / 2)
		r.Add(waits(1, "a"))
		time.Sleep(still)
		r.Add(waits(2, "a"))
		time.Sleep(leisure*still/2 - 1) // the rest is longer than what a repetition waits
		expect(t, r, []uint64{2}, nil)
		time.Sleep(time.Nanosecond)
		expect(t, r, []uint64{2}, []uint64{2})
	})
}

// TestWhatIsBeingWrittenIsLeftAlone: neither what repeats it nor what overflows takes it out of the queue.
func TestWhatIsBeingWrittenIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRing(20, 1<<20, slog.New(slog.DiscardHandler))
		r.encode = takes(time.Second)
		r.Add(waits(1, "a"))
		synctest.Wait()
		r.Add(waits(2, "a"))
		r.Add(waits(3, "a"))
		expect(t, r, []uint64{3}, nil)
		time.Sleep(time.Second)
		expect(t, r, []uint64{3}, nil)
		if s := r.List()[0]; s.Repeated != 2 {
			t.Errorf("the list says %+v", s)
		}
		if d, err := r.Decision("id-1"); err != nil || d.Problem.Generation != 1 {
			t.Error(err) // it is written, and not gone
		}
		// Nothing follows.
		time.Sleep(still)
		expect(t, r, []uint64{3}, []uint64{3})

		time.Sleep(leisure * time.Second)
		r.Add(room(4, "a"))
		synctest.Wait() // it is begun
		want := []uint64{4, 3}
		for g := range uint64(queueMost) {
			r.Add(launch(10 + g))
			want = append([]uint64{10 + g}, want...)
		}
		r.Add(room(5, "b"))
		r.Add(launch(20)) // in its place
		want = slices.Concat([]uint64{20}, want[:queueMost-1], []uint64{4, 3})
		expect(t, r, want, []uint64{3})
		time.Sleep(time.Second)
		expect(t, r, want, []uint64{4, 3})
	})
}

// TestALaunchThatIsLostIsTold: while the writer has work, there is an end to what may wait.
func TestALaunchThatIsLostIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		r := NewRing(20, 1<<20, slog.New(slog.NewTextHandler(&log, nil)))
		r.encode = takes(time.Second)
		r.Add(launch(1))
		synctest.Wait()
		for g := range uint64(queueMost) {
			r.Add(launch(2 + g))
		}
		r.Add(room(50, "a"))
		r.Add(launch(51)) // no word on the room
		if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "decision-id=id-2 ") || !strings.Contains(got, "8 later ones wait") {
			t.Errorf("the log says %q", got)
		}
		expect(t, r, []uint64{51, 9, 8, 7, 6, 5, 4, 3, 1}, nil)
		r.File(Latest)
	})
}

func TestWhatCanNotBeWrittenIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		r := NewRing(20, 1<<20, slog.New(slog.NewTextHandler(&log, nil)))
		r.encode = func(*record.Decision, *record.Types) (*record.File, error) {
			time.Sleep(time.Second)
			return nil, errors.New("no such value")
		}
		r.Add(launch(1))
		if _, ok := r.File("id-1"); ok {
			t.Error("it has a file")
		}
		expect(t, r, nil, nil)
		if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "decision-id=id-1 ") || !strings.Contains(got, "no such value") {
			t.Errorf("the log says %q", got)
		}
		r.encode = record.Encode
		r.Add(launch(2))
		time.Sleep(leisure * time.Second)
		expect(t, r, []uint64{2}, []uint64{2})
	})
}

// TestTheLatestIsThatOfWhenItWasAskedFor: who asks does not wait for what is decided meanwhile.
func TestTheLatestIsThatOfWhenItWasAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRing(20, 1<<20, slog.New(slog.DiscardHandler))
		r.encode = takes(time.Second)
		r.Add(launch(1))
		time.AfterFunc(time.Second/2, func() { r.Add(launch(2)) })
		began := time.Now()
		if d, err := r.Decision(Latest); err != nil || d.Problem.Generation != 1 || time.Since(began) != time.Second {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		r.File(Latest)
	})
}

// TestTheListIsAsLongAsTheRing: also while decisions wait to be written.
func TestTheListIsAsLongAsTheRing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRing(2, 1<<20, slog.New(slog.DiscardHandler))
		r.encode = takes(time.Second)
		for g := range uint64(4) {
			r.Add(launch(1 + g))
		}
		expect(t, r, []uint64{4, 3}, nil)
		time.Sleep(time.Minute)
		expect(t, r, []uint64{4, 3}, []uint64{4, 3})
	})
}

// takes is an encoder that takes a time.
func takes(d time.Duration) func(*record.Decision, *record.Types) (*record.File, error) {
	return func(x *record.Decision, known *record.Types) (*record.File, error) {
		time.Sleep(d)
		return record.Encode(x, known)
	}
}

func TestWhatRepeatsADecision(t *testing.T) {
	moved := of(2, nil)
	moved.Asked = &record.Asked{Begun: []int{0}}
	says := func(x plan.Unplaced, pods ...string) *record.Decision {
		for _, name := range pods {
			x.Pods = append(x.Pods, cluster.PodRef{Name: name})
		}
		return of(2, &plan.Plan{Unplaced: []plan.Unplaced{x}})
	}
	for name, tt := range map[string]struct {
		before, then *record.Decision
		want         bool
	}{
		"the same pod waits":             {waits(1, "a"), waits(2, "a"), true},
		"another waits":                  {waits(1, "a"), waits(2, "b"), false},
		"two wait":                       {waits(1, "a"), says(plan.Unplaced{}, "a", "b"), false},
		"its class is another":           {waits(1, "a"), says(plan.Unplaced{ClassID: "c"}, "a"), false},
		"for another reason":             {waits(1, "a"), says(plan.Unplaced{Reasons: []plan.Reason{{Code: plan.TooLarge}}}, "a"), false},
		"it has found room":              {waits(1, "a"), room(2, "a"), false},
		"the same pod finds room":        {room(1, "a"), room(2, "a"), true},
		"another finds room":             {room(1, "a"), room(2, "b"), false},
		"on another node":                {room(1, "a"), of(2, &plan.Plan{Placements: []plan.Placement{{Node: "m", Pods: []cluster.PodRef{{Name: "a"}}}}}), false},
		"it launches":                    {launch(1), launch(2), false},
		"it moves":                       {of(1, nil), moved, false},
		"it moved":                       {moved, of(3, nil), false},
		"nothing is to do, and was":      {of(1, &plan.Plan{}), of(2, &plan.Plan{}), true},
		"nobody asked for places before": {of(1, nil), of(2, &plan.Plan{}), false},
	} {
		if got := newEntry(tt.then).repeats(newEntry(tt.before)); got != tt.want {
			t.Errorf("%s: repeats it %t, want %t", name, got, tt.want)
		}
	}
}

// TestOfWrittenDecisionsThePlanOfTheLastIsKept: it is what the next one is compared with.
func TestOfWrittenDecisionsThePlanOfTheLastIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRing(20, 1<<20, slog.New(slog.DiscardHandler))
		for g := range uint64(3) {
			r.Add(waits(1+g, fmt.Sprint("pod-", g)))
			synctest.Wait()
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		for i, e := range r.entries {
			if (e.plan != nil) != (i == 2) || e.decision != nil {
				t.Errorf("decision %d of 3 holds the plan %v and the decision %v", i+1, e.plan, e.decision)
			}
		}
	})
}

// BenchmarkAdd adds two decisions that leave 100,000 pods without a place, as the one before did.
func BenchmarkAdd(b *testing.B) {
	x := plan.Unplaced{}
	for i := range 100_000 {
		x.Pods = append(x.Pods, cluster.PodRef{Namespace: "default", Name: fmt.Sprint("pod-", i), UID: fmt.Sprint("uid-", i)})
	}
	r := NewRing(20, 1<<30, slog.New(slog.DiscardHandler))
	d := of(1, &plan.Plan{Unplaced: []plan.Unplaced{x}})
	r.Add(d)
	r.File(Latest)
	again := of(1, &plan.Plan{Unplaced: []plan.Unplaced{{Pods: slices.Clone(x.Pods)}}})
	for b.Loop() {
		r.Add(d)
		r.Add(again)
	}
}
