package simulate

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

func spotRuns(name string, hours, rate float64) []*Result {
	runs := runsOf(name, 10)
	runs[0].Totals.SpotHours, runs[0].Totals.Expected, runs[0].Rate = hours, rounded(hours*rate, 1e4), rate
	return runs
}

// Where less than one interruption was to be expected, none says nothing.
func TestItSaysWhetherInterruptionsWereToBeExpected(t *testing.T) {
	for _, c := range []struct {
		hours, rate float64
		has, note   string
	}{
		{0, 0.05, "Interrupted  0 spot instances;", ""},
		{209, 0.0000685, "0 spot instances (0.014 to be expected in 209 instance-hours of spot)", "NOTE: at the rate that was played, 0.014 interruptions"},
		{0.5, 0.0000685, "0 spot instances (0 to be expected", "NOTE: at the rate that was played, far less than one interruption"},
		{209, 0, "0 spot instances (0 to be expected", "NOTE: no interruptions of spot instances were played"},
		{209, 0.05, "0 spot instances (10.45 to be expected", ""},
	} {
		text, data, page := written(t, &Report{Runs: spotRuns("", c.hours, c.rate)})
		if !strings.Contains(text, c.has) || !strings.Contains(text, c.note) || c.note == "" && strings.Contains(text, "NOTE: ") {
			t.Errorf("%+v: %s", c, text)
		}
		if got := strings.Contains(page, "--spot-interruptions 5%"); got != (c.note != "") {
			t.Errorf("%+v: the page has a hint: %t", c, got)
		}
		if !strings.Contains(data, `"expectedInterruptions":`) {
			t.Error(data)
		}
	}
	c, err := Compare([]string{"a", "b"}, [][]*Result{spotRuns("a", 0, 0), spotRuns("b", 209, 0.0000685)})
	if err != nil {
		t.Fatal(err)
	}
	text, _, page := written(t, &Report{Compared: []string{"a", "b"}, Comparison: c})
	for _, got := range []string{text, page} {
		if !strings.Contains(got, "ewer than one interruption of spot instances was to be expected in b, so") {
			t.Error(got)
		}
	}
}

// Only what runs can be interrupted, and only spot instances.
func TestSpotHoursAreThoseOfSpotInstancesThatRun(t *testing.T) {
	m := newMeter(nil)
	m.reset()
	hour := time.Now().Add(-time.Hour)
	m.running["i-1"] = &metered{"m6i.large", "us-east-1a", world.Spot, 1, hour, hour}
	m.running["i-2"] = &metered{"m6i.large", "us-east-1a", world.OnDemand, 1, hour, hour}
	m.coming["i-3"] = world.Spot
	if got := m.read().spotHours; got < 1 || got > 1.01 {
		t.Errorf("%g instance-hours", got)
	}
	if !slices.ContainsFunc(Metrics, func(m Metric) bool { return m.Name == "expected_interruptions" }) {
		t.Error("it can't be compared")
	}
}

// Every form names the rate that was played and its unit, and so do hints to play another.
func TestTheRateOfInterruptionsIsNamed(t *testing.T) {
	for rate, want := range map[float64]string{
		0.2: "20 % of the instances an hour", DefaultInterruptions: "0.00685 % of the instances an hour, which is 5 % in a month", 0: "none",
	} {
		a, b := spotRuns("a", 0.1, rate), spotRuns("b", 0.1, rate)
		c, err := Compare([]string{"a", "b"}, [][]*Result{a, b})
		if err != nil {
			t.Fatal(err)
		}
		for name, r := range map[string]*Report{"a run": {Runs: a}, "seeds": {Runs: append(a, b...)}, "a comparison": {Compared: []string{"a", "b"}, Comparison: c}} {
			text, _, page := written(t, r)
			if !strings.Contains(text, "Spot interruptions: "+want+"\n") || !strings.Contains(page, "spot interruptions: "+want) {
				t.Errorf("%s: no rate %s in\n%s", name, want, text)
			}
			if hint := "--spot-interruptions 5%"; strings.Count(text, hint+", which "+rateHint)+strings.Count(text, hint+" "+rateHint) != 1 {
				t.Errorf("%s: the hint has no unit:\n%s", name, text)
			}
		}
	}
}
