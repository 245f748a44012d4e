package reservation_test

import (
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/aws/reservation"
)

func TestWhatAReservationStillHolds(t *testing.T) {
	type step struct {
		after time.Duration // since the step before
		do    func(l *reservation.Ledger, now time.Time)
		left  int
		// unknown is set where EC2 has not told what is left.
		unknown bool
	}
	seen := func(n int) func(*reservation.Ledger, time.Time) {
		return func(l *reservation.Ledger, now time.Time) { l.Seen("cr-1", n, now) }
	}
	launched := func(instance string) func(*reservation.Ledger, time.Time) {
		return func(l *reservation.Ledger, _ time.Time) { l.Launched("cr-1", instance) }
	}
	for name, steps := range map[string][]step{
		"nothing is known before EC2 was asked, and an instance that is found again does not tell": {
			{do: func(*reservation.Ledger, time.Time) {}, unknown: true}, {do: launched("i-1"), unknown: true}, {time.Second, seen(3), 3, false},
		},
		"what was launched since EC2 was asked is taken off, once": {
			{0, seen(3), 3, false}, {time.Second, launched("i-1"), 2, false}, {time.Second, launched("i-1"), 2, false}, {time.Second, launched("i-2"), 1, false},
		},
		"what was launched before EC2 was asked is in its answer": {
			{0, seen(3), 3, false}, {time.Second, launched("i-1"), 2, false}, {time.Second, seen(2), 2, false},
		},
		"an answer to an older question is passed over": {
			{0, seen(3), 3, false},
			{time.Second, func(l *reservation.Ledger, now time.Time) { l.Seen("cr-1", 9, now.Add(-time.Minute)) }, 3, false},
		},
		"it is empty when EC2 says so, and stays so for a minute whatever descriptions say": {
			{0, seen(3), 3, false},
			{time.Second, func(l *reservation.Ledger, _ time.Time) { l.Empty("cr-1") }, 0, false},
			{30 * time.Second, seen(3), 0, false},
			{31 * time.Second, func(*reservation.Ledger, time.Time) {}, 3, false},
		},
		"the instances of the request that found it empty do not show that it is not": {
			{0, seen(1), 1, false},
			{time.Second, func(l *reservation.Ledger, _ time.Time) { l.Empty("cr-1"); l.Launched("cr-1", "i-1") }, 0, false},
			{time.Second, seen(1), 0, false}, // the description does not hold the instance yet
			{59 * time.Second, seen(0), 0, false},
		},
		"an instance that is gone gives its place back, once, and only when it was one of the reservation": {
			{0, seen(0), 0, false},
			{time.Second, func(l *reservation.Ledger, _ time.Time) { l.Ending("cr-1", "i-1") }, 0, false},
			{time.Second, func(l *reservation.Ledger, _ time.Time) { l.Ended("i-1"); l.Ended("i-1"); l.Ended("i-2") }, 1, false},
			{time.Second, seen(1), 1, false},
		},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
			l := reservation.NewLedger(func() time.Time { return now })
			for i, s := range steps {
				now = now.Add(s.after)
				s.do(l, now)
				if got, known := l.Left("cr-1"); got != s.left || known == s.unknown {
					t.Fatalf("after step %d %d are left (known: %t), want %d", i, got, known, s.left)
				}
			}
		})
	}
}
