package confirmation_test

import (
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/disrupt/confirmation"
)

func TestMovesRipen(t *testing.T) {
	now := time.Unix(1000, 0)
	move := func(cause disrupt.Cause, nodes ...string) disrupt.Move {
		return disrupt.Move{Cause: cause, Nodes: nodes}
	}
	var r confirmation.Tracker
	confirmed, wait, _ := r.Observe([]disrupt.Move{move(disrupt.Underutilized, "a"), move(disrupt.Empty, "e")}, now)
	if len(confirmed) != 0 || wait != confirmation.Moment {
		t.Errorf("at first: %v, wait %v; also what is empty waits a moment, for the successors of its pods may be on their way", confirmed, wait)
	}
	now = now.Add(confirmation.Moment)
	confirmed, wait, dropped := r.Observe([]disrupt.Move{move(disrupt.Underutilized, "a", "b")}, now)
	if len(confirmed) != 0 || wait != confirmation.Moment || len(dropped) != 0 {
		t.Errorf("a set is as confirmed as the last of it: %v, wait %v, dropped %v", confirmed, wait, dropped)
	}
	if r.Stood([]string{"a"}) != confirmation.Moment || r.Stood([]string{"b"}) != 0 {
		t.Error("a has waited long enough, b has not")
	}
	if confirmed, _, _ = r.Observe([]disrupt.Move{move(disrupt.Underutilized, "a", "b")}, now.Add(confirmation.Moment)); len(confirmed) != 1 {
		t.Error("the set is not confirmed after all have waited")
	}
}

// Which of several nodes could go changes with every pod: one that mostly could is confirmed all the same, and one that could no
// longer is forgotten.
func TestWhatMostlyCouldGoRipens(t *testing.T) {
	const wait = 10 * time.Minute
	for name, tt := range map[string]struct {
		in, out   time.Duration // in turn
		confirmed bool          // within the hour
	}{
		"always":            {time.Hour, 0, true},
		"half of the time":  {time.Minute, time.Minute, true},
		"now and then":      {time.Minute, 3 * time.Minute, false},
		"never long enough": {9 * time.Minute, 20 * time.Minute, false},
	} {
		var r confirmation.Tracker
		after := time.Duration(0)
		for at := time.Duration(0); at < time.Hour; at += 10 * time.Second {
			var moves []disrupt.Move
			if at%(tt.in+tt.out) < tt.in {
				moves = []disrupt.Move{{Cause: disrupt.Underutilized, Nodes: []string{"a"}, Wait: wait}}
			}
			confirmed, _, dropped := r.Observe(moves, time.Unix(1000, 0).Add(at))
			if len(dropped) > 0 {
				t.Errorf("%s: told at %s that it is not to go any more; that was not to be in a moment", name, at)
			}
			if len(confirmed) > 0 && after == 0 {
				after = at
			}
		}
		if (after > 0) != tt.confirmed || tt.confirmed && after < wait {
			t.Errorf("%s: confirmed after %s", name, after)
		}
		r.Observe(nil, time.Unix(1000, 0).Add(3*time.Hour))
		r.Observe(nil, time.Unix(1000, 0).Add(6*time.Hour))
		if n := r.Len(); n > 0 {
			t.Errorf("%s: %d nodes are still remembered", name, n)
		}
	}
}

// One decision that asks for less takes nothing of what a node that asks for much has waited.
func TestALongWaitIsNotForgottenInAMoment(t *testing.T) {
	now := time.Unix(1000, 0)
	move := func(wait time.Duration) []disrupt.Move {
		return []disrupt.Move{{Cause: disrupt.Underutilized, Nodes: []string{"a"}, Wait: wait}}
	}
	var r confirmation.Tracker
	r.Observe(move(3*time.Hour), now)
	r.Observe(move(time.Minute), now.Add(170*time.Minute))
	r.Observe(move(3*time.Hour), now.Add(171*time.Minute))
	if confirmed, wait, _ := r.Observe(move(3*time.Hour), now.Add(179*time.Minute)); len(confirmed) > 0 || wait != time.Minute {
		t.Errorf("%d confirmed, %s left", len(confirmed), wait)
	}
	if confirmed, _, _ := r.Observe(move(3*time.Hour), now.Add(180*time.Minute)); len(confirmed) == 0 {
		t.Error("not confirmed after three hours")
	}
}

// A rollout lets much look superfluous for a moment, also in a cluster in which little has been for long.
func TestWhatIsMuchAllOfASuddenHasToStand(t *testing.T) {
	now := time.Unix(1000, 0)
	move := func(wait time.Duration) []disrupt.Move {
		return []disrupt.Move{{Cause: disrupt.Underutilized, Nodes: []string{"a"}, Wait: wait}}
	}
	var r confirmation.Tracker
	r.Observe(move(10*time.Minute), now)
	r.Observe(move(10*time.Minute), now.Add(9*time.Minute))
	if confirmed, wait, _ := r.Observe(move(0), now.Add(9*time.Minute+time.Second)); len(confirmed) > 0 || wait != confirmation.Moment {
		t.Errorf("it goes at once: %v, wait %s", confirmed, wait)
	}
	if confirmed, _, _ := r.Observe(move(10*time.Minute), now.Add(10*time.Minute)); len(confirmed) == 0 {
		t.Error("the moment has cost it its turn")
	}
	r.Observe(move(0), now.Add(11*time.Minute))
	if confirmed, _, _ := r.Observe(move(0), now.Add(11*time.Minute+confirmation.Moment)); len(confirmed) == 0 {
		t.Error("it does not go though much has been to be saved for long enough")
	}
}

// A node that may go itself in nine seconds takes pods: the decision after that comes first. Where pods come to that node all
// the time, it never may go, and the move is made all the same.
func TestAMoveOntoANodeThatMayGoWaitsForThatDecision(t *testing.T) {
	const soon = 9 * time.Second
	for name, left := range map[string]func(passed time.Duration) time.Duration{
		"its time passes":     func(passed time.Duration) time.Duration { return max(0, soon-passed) },
		"its time never ends": func(time.Duration) time.Duration { return soon },
	} {
		var r confirmation.Tracker
		after := time.Duration(-1)
		for at := time.Duration(0); at < time.Minute && after < 0; at += time.Second {
			if confirmed, _, _ := r.Observe([]disrupt.Move{{Cause: disrupt.Underutilized, Nodes: []string{"a"}, Onto: left(at)}}, time.Unix(1000, 0).Add(at)); len(confirmed) > 0 {
				after = at
			}
		}
		if after < soon || after > soon+2*confirmation.Moment {
			t.Errorf("%s: made after %s", name, after)
		}
	}
}
