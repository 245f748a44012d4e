package cli

import (
	"strings"
	"testing"
	"time"
)

func TestLengthsOfTimeHaveDaysAndWeeks(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"90s": 90 * time.Second, "36h": 36 * time.Hour, "1d": 24 * time.Hour, "1w": 168 * time.Hour, "1w2d": 216 * time.Hour, "1d12h30m": 36*time.Hour + 30*time.Minute, "0.5d": 12 * time.Hour, "0": 0, "-5m": -5 * time.Minute,
	} {
		var got time.Duration
		if err := spanFlag(&got, time.Minute).Set(text); err != nil || got != want {
			t.Errorf("%s is %s, want %s (%v)", text, got, want, err)
		}
	}
	for _, text := range []string{"", "d", "1", "1 day", "1d-2h", "2h1d", "99999999999w", "1y"} {
		var got time.Duration
		if err := spanFlag(&got, 0).Set(text); err == nil || !strings.Contains(err.Error(), "as in 90s, 30m, 36h, 1d or 1w") {
			t.Errorf("%q: %s %v", text, got, err)
		}
	}
}

func TestPartsMayBeInPercent(t *testing.T) {
	for text, want := range map[string]float64{"0.05": 0.05, "5%": 0.05, "5 %": 0.05, "0": 0, "1e-3": 0.001} {
		var got float64
		if err := partFlag(&got, 1).Set(text); err != nil || got != want {
			t.Errorf("%s is %g, want %g (%v)", text, got, want, err)
		}
	}
	for _, text := range []string{"", "%", "5pc", "NaN"} {
		var got float64
		if err := partFlag(&got, 0).Set(text); err == nil || !strings.Contains(err.Error(), "as in 0.05 or 5%") {
			t.Errorf("%q: %g %v", text, got, err)
		}
	}
}

// A rate above all instances an hour is meant as percent.
func TestARateAboveOneWantsAPercentSign(t *testing.T) {
	got := 0.5
	h := &hourly{partFlag(&got, 0.5)}
	if err := h.Set("5"); err == nil || !strings.Contains(err.Error(), "5 is 500 % of the instances an hour; write 5% for 5 % an hour") || got != 0.5 {
		t.Errorf("%v, %g", err, got)
	}
	for text, want := range map[string]string{"1": "1", "5%": "0.05", "500%": "500%", "0.02": "0.02"} {
		if err := h.Set(text); err != nil || h.String() != want {
			t.Errorf("%s: %s, %v", text, h.String(), err)
		}
	}
}
