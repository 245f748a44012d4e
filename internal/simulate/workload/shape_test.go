package workload_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-sh/kerf/internal/simulate/workload"
)

func TestShapesHaveAboutTheirPods(t *testing.T) {
	for _, name := range workload.Shapes {
		for _, pods := range []int{1, 7, 100, 1000} {
			horizon := workload.DefaultHorizon(name)
			w, err := workload.Shape(name, pods, horizon, 3)
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Check(); err != nil {
				t.Error(err)
			}
			if peak := float64(w.Peak(horizon)); peak < 0.8*float64(pods)-3 || peak > 1.25*float64(pods)+18 {
				t.Errorf("%s of %d pods has %.0f at most", name, pods, peak)
			}
			again, _ := workload.Shape(name, pods, horizon, 3)
			if d := cmp.Diff(w, again); d != "" {
				t.Errorf("%s differs from itself: %s", name, d)
			}
		}
	}
}

func TestADayHasANightAndAWeekAnEnd(t *testing.T) {
	at := func(w *workload.Workload, from time.Duration) int { return w.Window(from, from+time.Minute, 1).Peak(0) }
	w, err := workload.Shape(workload.Week, 1000, 7*24*time.Hour, 1)
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
		w, err := workload.Shape(workload.Day, pods, 24*time.Hour, 1)
		if err != nil {
			t.Fatal(err)
		}
		at := func(from time.Duration) int { return w.Window(from, from+time.Minute, 1).Peak(0) }
		if night, noon := at(5*time.Hour), at(17*time.Hour); night > noon*6/10 {
			t.Errorf("of %d pods %d are there at five in the morning, %d at five in the afternoon", pods, night, noon)
		}
	}
}

func TestShapesRefuse(t *testing.T) {
	for _, f := range []func() (*workload.Workload, error){
		func() (*workload.Workload, error) { return workload.Shape("night", 1, time.Hour, 1) },
		func() (*workload.Workload, error) { return workload.Shape("day", 0, time.Hour, 1) },
		func() (*workload.Workload, error) { return workload.Shape("day", 1, 0, 1) },
	} {
		if w, err := f(); err == nil {
			t.Errorf("it made %+v", w)
		}
	}
}
