package batch

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"
)

func double(calls *[][]int) func(context.Context, string, []int) []Result[int] {
	var mu sync.Mutex
	return func(_ context.Context, _ string, items []int) []Result[int] {
		mu.Lock()
		*calls = append(*calls, items)
		mu.Unlock()
		out := make([]Result[int], len(items))
		for i, v := range items {
			out[i].Value = 2 * v
		}
		return out
	}
}

func TestItemsOfOneKeyShareACallAndEachGetsItsResult(t *testing.T) {
	var calls [][]int
	b := New(Options{Idle: 20 * time.Millisecond, Max: time.Second}, double(&calls))
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			if got, err := b.Do(t.Context(), "k", i); err != nil || got != 2*i {
				t.Errorf("item %d gave %d, %v", i, got, err)
			}
		})
	}
	wg.Wait()
	if len(calls) != 1 || len(calls[0]) != 50 {
		t.Errorf("%d calls, want 1 with 50 items", len(calls))
	}
}

func TestABatchIsClosedWhenItIsFull(t *testing.T) {
	var calls [][]int
	b := New(Options{Idle: time.Millisecond, Max: time.Second, Items: 10}, double(&calls))
	var wg sync.WaitGroup
	for i := range 35 {
		wg.Go(func() {
			if got, err := b.Do(t.Context(), "k", i); err != nil || got != 2*i {
				t.Errorf("item %d gave %d, %v", i, got, err)
			}
		})
	}
	wg.Wait()
	n := 0
	for _, c := range calls {
		n += len(c)
		if len(c) > 10 {
			t.Errorf("a batch has %d items, want at most 10", len(c))
		}
	}
	if n != 35 {
		t.Errorf("%d items were served, want 35", n)
	}
}

func TestTheLongestWaitCutsABatchThatIsNeverIdle(t *testing.T) {
	var calls [][]int
	b := New(Options{Idle: time.Hour, Max: 30 * time.Millisecond}, double(&calls))
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	for i := range 2 {
		wg.Go(func() {
			if _, err := b.Do(ctx, "k", i); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestACallerThatGivesUpDoesNotStopTheOthers(t *testing.T) {
	release := make(chan struct{})
	b := New(Options{Idle: time.Millisecond, Max: time.Second}, func(ctx context.Context, _ string, items []int) []Result[int] {
		<-release
		out := make([]Result[int], len(items))
		for i := range out {
			out[i].Err = ctx.Err()
		}
		return out
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Do(ctx, "k", 1); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	close(release)
	if _, err := b.Do(t.Context(), "k", 2); err != nil {
		t.Fatalf("the batch must not see the cancelled context: %v", err)
	}
}

func TestAMissingResultIsAnError(t *testing.T) {
	b := New(Options{Idle: time.Millisecond, Max: time.Second}, func(context.Context, string, []int) []Result[int] { return nil })
	if _, err := b.Do(t.Context(), "k", 1); !errors.Is(err, errNoResult) {
		t.Fatalf("got %v", err)
	}
}

func TestABatchThatPanicsIsAnErrorOfItsItems(t *testing.T) {
	b := New(Options{Idle: time.Millisecond, Max: time.Second}, func(_ context.Context, key string, items []int) []Result[int] {
		if key == "bad" {
			panic("planted")
		}
		return []Result[int]{{Value: items[0]}}
	})
	if _, err := b.Do(t.Context(), "bad", 1); err == nil || !strings.Contains(err.Error(), "planted") {
		t.Errorf("the caller got %v", err)
	}
	if v, err := b.Do(t.Context(), "good", 2); v != 2 || err != nil {
		t.Errorf("another batch: %d, %v", v, err)
	}
}

// Whoever joins calls is told how many there were and how long the first waited.
func TestWhatWasJoinedIsTold(t *testing.T) {
	type joined struct {
		items  int
		waited time.Duration
	}
	told := make(chan joined, 1)
	var calls [][]int
	b := New(Options{Idle: 20 * time.Millisecond, Max: time.Second, Joined: func(items int, waited time.Duration) { told <- joined{items, waited} }}, double(&calls))
	var wg sync.WaitGroup
	for i := range 3 {
		wg.Go(func() { _, _ = b.Do(t.Context(), "k", i) })
	}
	wg.Wait()
	if got := <-told; got.items != 3 || got.waited < 20*time.Millisecond {
		t.Errorf("told of %+v", got)
	}
}
