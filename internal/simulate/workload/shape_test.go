package workload_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-sh/kerf/internal/simulate/workload"
)

func TestShapesHaveAboutTheirPods(t *testing.T) {
	for _, name := range workload.Shapes {
		for _, pods := range []int{1, 7, 100, 1000} {
			horizon := workload.DefaultHorizon(name)
			w, err := workload.Shape(name, pods, 0, horizon, 3)
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Check(); err != nil {
				t.Error(err)
			}
			if peak := float64(w.Peak(horizon)); peak < 0.8*float64(pods)-3 || peak > 1.25*float64(pods)+18 {
				t.Errorf("%s of %d pods has %.0f at most", name, pods, peak)
			}
			again, _ := workload.Shape(name, pods, 0, horizon, 3)
			if d := cmp.Diff(w, again); d != "" {
				t.Errorf("%s differs from itself: %s", name, d)
			}
		}
	}
}

func TestADayHasANightAndAWeekAnEnd(t *testing.T) {
	at := func(w *workload.Workload, from time.Duration) int { return w.Window(from, from+time.Minute, 1).Peak(0) }
	w, err := workload.Shape(workload.Week, 1000, 0, 7*24*time.Hour, 1)
	if err != nil {
		t.Fatal(err)
	}
	night, noon, saturday := at(w, 29*time.Hour), at(w, 41*time.Hour), at(w, (5*24+17)*time.Hour)
	if night > noon/2 || saturday > noon*2/3 || saturday < noon/3 {
		t.Errorf("%d pods at five in the morning, %d at five in the afternoon, %d then on Saturday", night, noon, saturday)
	}
}

func TestADayOfFewPodsHasANight(t *testing.T) {
	for _, pods := range []int{10, 20, 30, 100} {
		w, err := workload.Shape(workload.Day, pods, 0, 24*time.Hour, 1)
		if err != nil {
			t.Fatal(err)
		}
		at := func(from time.Duration) int { return w.Window(from, from+time.Minute, 1).Peak(0) }
		if night, noon := at(5*time.Hour), at(17*time.Hour); night > noon*6/10 {
			t.Errorf("of %d pods %d are there at five in the morning, %d at five in the afternoon", pods, night, noon)
		}
	}
}

// services is how many pods services have at the beginning.
func services(w *workload.Workload) (pods int) {
	for _, s := range w.Steps {
		if s.At == 0 && s.Sets() {
			pods += s.Replicas
		}
	}
	return pods
}

// A shape that begins at nine has the pods that one from midnight has at nine, and says which part of its curve it plays.
func TestAShapeCanBeginAtAnyTime(t *testing.T) {
	all, err := workload.Shape(workload.Week, 1000, 0, 7*24*time.Hour, 1)
	if err != nil {
		t.Fatal(err)
	}
	for start, want := range map[time.Duration]string{
		0: "from 58 % down to 43 %", 12 * time.Hour: "from 75 % up to 90 %", 15 * time.Hour: "from 96 % up to 100 %", (5*24 + 15) * time.Hour: "from 48 % up to 50 %", (6*24 + 22) * time.Hour: "from 38 % down to 29 %",
	} {
		w, err := workload.Shape(workload.Week, 1000, start, 2*time.Hour, 1)
		if err != nil {
			t.Fatal(err)
		}
		got, there := services(w), services(all.Window(start, 0, 1))
		if got < there*8/10 || got > there*12/10 {
			t.Errorf("at %s: %d pods, and %d in the whole week", start, got, there)
		}
		if !strings.Contains(w.Partial, "a part of the week's curve: "+want+" of the pods at its peak") || !strings.Contains(w.Partial, "--horizon 168h the whole week") {
			t.Errorf("at %s: %q, want %s", start, w.Partial, want)
		}
	}
	for shape, horizon := range map[string]time.Duration{workload.Day: 24 * time.Hour, workload.Week: 168 * time.Hour, workload.Steady: time.Hour, workload.Burst: time.Hour} {
		if w, err := workload.Shape(shape, 20, 9*time.Hour, horizon, 1); err != nil || w.Partial != "" {
			t.Errorf("all of %s is told to be a part: %q %v", shape, w.Partial, err)
		}
	}
}

func TestShapesRefuse(t *testing.T) {
	for _, f := range []func() (*workload.Workload, error){
		func() (*workload.Workload, error) { return workload.Shape("night", 1, 0, time.Hour, 1) },
		func() (*workload.Workload, error) { return workload.Shape("day", 0, 0, time.Hour, 1) },
		func() (*workload.Workload, error) { return workload.Shape("day", 1, 0, 0, 1) },
	} {
		if w, err := f(); err == nil {
			t.Errorf("it made %+v", w)
		}
	}
}

// What is played of a curve says where it goes.
func TestAPartOfACurveSaysWhereItGoes(t *testing.T) {
	for _, c := range []struct {
		start, horizon time.Duration
		want           string
	}{
		{17 * time.Hour, 6 * time.Hour, "curve: from 100 % down to 67 % of the pods"},
		{11 * time.Hour, 6 * time.Hour, "curve: from 67 % up to 100 % of the pods"},
		{14 * time.Hour, 5 * time.Hour, "curve: between 90 % and 100 % of the pods"},
		{17 * time.Hour, time.Minute, "curve: about 100 % of the pods"},
	} {
		w, err := workload.Shape(workload.Day, 20, c.start, c.horizon, 1)
		if err != nil || !strings.Contains(w.Partial, c.want) {
			t.Errorf("%s for %s: %+v, %v", c.start, c.horizon, w, err)
		}
	}
}
