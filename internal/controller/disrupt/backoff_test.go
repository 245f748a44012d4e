package disrupt

import (
	"fmt"
	"testing"
	"time"
)

var startOfDay = time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)

func TestAPoolThatFailsWaitsLongerAndLongerByItself(t *testing.T) {
	b := &backoff{}
	now := startOfDay
	stuck := []Going{{Node: "n", Claim: "n", Pool: "stuck"}}
	for i, want := range []time.Duration{1, 2, 4, 8, 15, 15} {
		b.failed(stuck, "no capacity", now)
		until, why := b.waits("stuck", now)
		if until.Sub(now) != want*time.Minute || why != "no capacity" {
			t.Errorf("failure %d: it waits %s for %q, want %s", i+1, until.Sub(now), why, want*time.Minute)
		}
		if until, _ := b.waits("other", now); !until.IsZero() {
			t.Errorf("failure %d: the other pool waits", i+1)
		}
		now = until
		if until, _ := b.waits("stuck", now); !until.IsZero() {
			t.Errorf("failure %d: it still waits when the time is over", i+1)
		}
	}
	b.succeeded(stuck)
	if b.failed(stuck, "again", now); !b.pools["stuck"].until.Equal(now.Add(time.Minute)) {
		t.Error("success is not remembered")
	}
	now = now.Add(time.Minute + forgive)
	if b.failed(stuck, "again", now); !b.pools["stuck"].until.Equal(now.Add(time.Minute)) {
		t.Error("an old failure is still held against it")
	}
	if b.forget(now.Add(time.Minute + forgive)); len(b.pools)+len(b.nodes) != 0 {
		t.Error("what does not count any more is remembered")
	}
}

// A node that always fails must not take all turns of its pool, whatever the budget.
func TestANodeThatFailsTakesNoOthersTurn(t *testing.T) {
	b := &backoff{}
	now := startOfDay
	due := func() (out []candidate) {
		for i := range 5 {
			name := fmt.Sprint("n", i)
			out = append(out, candidate{Going: Going{Node: name, Claim: name, Pool: "p"}, since: startOfDay.Add(time.Duration(i) * time.Second)})
		}
		return out
	}
	left, bad := due(), map[string]bool{"n0": true, "n2": true}
	for turn := range 7 {
		b.order(left)
		first := left[0]
		if bad[first.Node] {
			b.failed([]Going{first.Going}, "no place", now)
		} else {
			b.succeeded([]Going{first.Going})
			left = left[1:]
		}
		if until, _ := b.waits("p", now); until.After(now) {
			now = until
		}
		if len(left) == 2 {
			if turn != 4 {
				t.Errorf("the three that can go went in %d turns, want 5", turn+1)
			}
			return
		}
	}
	t.Fatalf("%d nodes are left", len(left))
}
