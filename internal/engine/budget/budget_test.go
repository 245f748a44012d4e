package budget

import (
	"errors"
	"math"
	"testing"
	"time"
)

func TestSharesAreReadAndRoundedUp(t *testing.T) {
	for text, want := range map[string]int{"0": 0, "3": 3, "0%": 0, "10%": 2, "100%": 11} {
		s, err := ParseShare(text)
		if got := s.Of(11); err != nil || got != want {
			t.Errorf("%s of 11: %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "-1", "101%", "ten", "5 %"} {
		if s, err := ParseShare(text); err == nil {
			t.Errorf("%q is read as %v", text, s)
		}
	}
}

// hourly begins at each full hour.
type hourly struct{}

func (hourly) Next(t time.Time) time.Time { return t.Truncate(time.Hour).Add(time.Hour) }

// never begins never.
type never struct{}

func (never) Next(time.Time) time.Time { return time.Time{} }

func TestWindowsThatOverlapEachCount(t *testing.T) {
	noon := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		window  Window
		at      time.Time
		open    bool
		changes time.Time
	}{
		"inside":                         {Window{hourly{}, 10 * time.Minute}, noon.Add(5 * time.Minute), true, noon.Add(10 * time.Minute)},
		"at the end":                     {Window{hourly{}, 10 * time.Minute}, noon.Add(10 * time.Minute), false, noon.Add(time.Hour)},
		"longer than until the next one": {Window{hourly{}, 90 * time.Minute}, noon.Add(5 * time.Minute), true, noon.Add(30 * time.Minute)},
		"never":                          {Window{never{}, time.Hour}, noon, false, time.Time{}},
	} {
		all := []Budget{{Window: &tc.window}}
		n, err := Allowed(all, "Empty", 10, tc.at)
		if open := n == 0; err != nil || open != tc.open || !open && n != math.MaxInt {
			t.Errorf("%s: %d are allowed, %v", name, n, err)
		}
		if got := Changes(all, tc.at); !got.Equal(tc.changes) {
			t.Errorf("%s: it changes at %s, want %s", name, got, tc.changes)
		}
	}
}

func TestWhatCantBeReadAllowsNothingWhereItMatters(t *testing.T) {
	bad := errors.New("no number")
	all := []Budget{{Share: Share{N: 5}}, {BadShare: bad, Reasons: []string{"Drifted"}, Window: &Window{never{}, time.Hour}}, {BadWindow: bad, Reasons: []string{"Empty"}}}
	for reason, want := range map[string]int{"Drifted": 5, "Empty": 0, "Underutilized": 5} {
		n, err := Allowed(all, reason, 10, time.Time{})
		if n != want || (err != nil) != (want == 0) {
			t.Errorf("%s: %d, %v", reason, n, err)
		}
	}
}
