package guard_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kerf-sh/kerf/internal/guard"
)

// told collects where panics were until the test ends.
func told(t *testing.T) func() []string {
	var mu sync.Mutex
	var where []string
	t.Cleanup(guard.Listen(func(p *guard.Panic) {
		mu.Lock()
		defer mu.Unlock()
		if !strings.Contains(string(p.Stack), "guard_test") {
			t.Errorf("the stack does not lead here:\n%s", p.Stack)
		}
		where = append(where, p.Where)
	}))
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Sorted(slices.Values(where))
	}
}

func TestAPanicIsAnErrorOfTheOneThing(t *testing.T) {
	where := told(t)
	var p *guard.Panic
	if err := guard.Catch("caught", func() error { panic("x") }); !errors.As(err, &p) || p.Value != "x" || len(where()) != 0 {
		t.Errorf("Catch: %v, told %v", err, where())
	}
	if err := guard.Run("run", func() error { var s []int; return fmt.Errorf("%d", s[len(where())]) }); !errors.As(err, &p) || !strings.Contains(err.Error(), "run: panic: runtime error: index out of range") {
		t.Errorf("Run: %v", err)
	}
	own := errors.New("own")
	if err := guard.Run("fails", func() error { return own }); err != own {
		t.Errorf("Run: %v", err)
	}
	if got := where(); !slices.Equal(got, []string{"run"}) {
		t.Errorf("told %v", got)
	}
}

func TestAGroupWaitsForAllAndTellsWhatFailed(t *testing.T) {
	where := told(t)
	own := errors.New("own")
	g := guard.Group{Limit: 2}
	var mu sync.Mutex
	running, most, done := 0, 0, 0
	for i := range 20 {
		g.Go("group", func() error {
			mu.Lock()
			running++
			most = max(most, running)
			mu.Unlock()
			defer func() { mu.Lock(); running--; done++; mu.Unlock() }()
			switch i {
			case 3:
				panic("three")
			case 4:
				return own
			}
			return nil
		})
	}
	var p *guard.Panic
	if err := g.Wait(); !errors.As(err, &p) || !errors.Is(err, own) || done != 20 || most > 2 {
		t.Errorf("Wait: %v; %d done, %d at once", err, done, most)
	}
	if err := g.Wait(); err != nil {
		t.Errorf("used again: %v", err)
	}
	if got := where(); !slices.Equal(got, []string{"group"}) {
		t.Errorf("told %v", got)
	}
}

func TestWhatRunsByItselfEndsNoProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		where := told(t)
		guard.Go("alone", func() { panic("x") })
		guard.AfterFunc(time.Hour, "later", func() { panic("y") })
		guard.AfterFunc(time.Hour, "never", func() { panic("z") }).Stop()
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if got := where(); !slices.Equal(got, []string{"alone", "later"}) {
			t.Errorf("told %v", got)
		}
	})
}
