package simulate

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
)

// stopped ends a run early.
func stopped(r *Result, seconds int64) { r.SimulatedSeconds, r.Interrupted = seconds, true }

func configurationsOf(names ...string) []*Configuration {
	var out []*Configuration
	for _, n := range names {
		out = append(out, &Configuration{Name: n, Settings: map[string]string{}})
	}
	return out
}

// written are the report's text, JSON and page.
func written(t *testing.T, r *Report) (text, data, page string) {
	t.Helper()
	var a, b bytes.Buffer
	c, err := json.Marshal(r)
	if err := errors.Join(err, r.WriteText(&a), r.WriteHTML(&b)); err != nil {
		t.Fatal(err)
	}
	return a.String(), string(c), b.String()
}

// Of four configurations two have finished the only seed: these are compared, and the others are shown as far as they came.
func TestAnInterruptedComparisonComparesWhatIsFinished(t *testing.T) {
	a, b, c, d := runsOf("a", 11)[0], runsOf("b", 22)[0], runsOf("c", 33)[0], runsOf("d", 44)[0]
	stopped(a, 7200)
	stopped(d, 0)
	r, err := CompareRuns(configurationsOf("a", "b", "c", "d"), []*Result{a, b, c, d})
	if err != nil {
		t.Fatal(err)
	}
	x := r.Comparison
	if x == nil || len(x.Configurations) != 2 || x.Configurations[0].Name != "b" || x.difference("c", "bill").Absolute.mean() != 11 || !slices.Equal(x.NotCompared, []string{"a", "d"}) {
		t.Fatalf("%+v", x)
	}
	if len(r.Runs) != 1 || r.Runs[0] != a {
		t.Errorf("%d runs are shown beside: want that of a, and none of d, which ended in its warm-up", len(r.Runs))
	}
	text, data, page := written(t, r)
	for _, want := range []string{"c against b:", "not compared: a, d", "INTERRUPTED: of 4 runs, 2 were finished, 2 ended early and 0 did not begin", "2 hours of 24 hours", "$11"} {
		if !strings.Contains(text, want) {
			t.Errorf("the text lacks %q:\n%s", want, text)
		}
	}
	if !strings.Contains(page, "<title>Comparison of 4 configurations, interrupted") || !strings.Contains(page, "2 hours of 24 hours") {
		t.Errorf("the page does not say what it is of: %s", page)
	}
	if !strings.Contains(data, `"notCompared":["a","d"]`) || !strings.Contains(data, `"runs":[{"configuration":"a"`) {
		t.Error(data)
	}
}

// One run is finished, and nothing can be compared: the report is one of a comparison all the same.
func TestWhereNothingCanBeComparedTheRunsAreShown(t *testing.T) {
	a, b := runsOf("a", 11, 12), runsOf("b", 22, 23)
	stopped(b[0], 3600)
	r, err := CompareRuns(configurationsOf("a", "b"), []*Result{a[0], b[0], nil, nil})
	if err != nil {
		t.Fatal(err)
	}
	if r.Comparison != nil || len(r.Runs) != 2 {
		t.Fatalf("%+v", r)
	}
	text, data, page := written(t, r)
	if !strings.HasPrefix(text, "Comparison of a, b, interrupted\n") || !strings.Contains(text, "1 hour of 24 hours") || !strings.Contains(text, "nothing can be compared yet") {
		t.Error(text)
	}
	if !strings.Contains(page, "<title>Comparison of 2 configurations, interrupted") || !strings.Contains(page, "$22") || !strings.Contains(data, `"compared":["a","b"]`) {
		t.Error(page)
	}
	if _, err := CompareRuns(configurationsOf("a", "b"), make([]*Result, 2)); !errors.Is(err, ErrNothingCounted) {
		t.Error(err)
	}
}

// Seeds that all have finished are compared; what was finished of the next seed is shown.
func TestRunsThatEndedEarlyAreLeftOut(t *testing.T) {
	a, b, c := runsOf("a", 1, 2, 3), runsOf("b", 1, 2, 3), runsOf("c", 1, 2, 3)
	stopped(c[1], 300)
	r, err := CompareRuns(configurationsOf("a", "b", "c"), []*Result{a[0], b[0], c[0], a[1], b[1], c[1], nil, nil, nil})
	if err != nil || len(r.Comparison.Configurations) != 3 || !slices.Equal(r.Comparison.Seeds, []uint64{1}) || !slices.Equal(r.Comparison.LeftOut, []uint64{2}) || len(r.Runs) != 3 {
		t.Errorf("%+v %v", r.Comparison, err)
	}
	if _, err := Compare([]string{"a", "b"}, [][]*Result{a[1:2], c[1:2]}); err == nil {
		t.Error("nothing was compared, and it says nothing")
	}
}

// Means are of runs that were finished; without one it is the run that came furthest.
func TestMeansAreOfFinishedRuns(t *testing.T) {
	runs := runsOf("", 10, 20, 30)
	stopped(runs[2], 3600)
	if r, err := SeedRuns(runs); err != nil || len(r.Runs) != 2 || r.Interrupted == "" {
		t.Errorf("%+v %v", r, err)
	}
	stopped(runs[0], 60)
	stopped(runs[1], 0)
	if r, err := SeedRuns(runs); err != nil || len(r.Runs) != 1 || r.Runs[0].Seed != 3 {
		t.Errorf("%+v %v", r, err)
	}
	if _, err := SeedRuns(runs[1:2]); !errors.Is(err, ErrNothingCounted) {
		t.Errorf("a run that ended in its warm-up: %v", err)
	}
}
