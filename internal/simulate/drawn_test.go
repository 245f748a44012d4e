package simulate

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/simulate/workload"
)

// Who plays a trace is not told that seeds vary the load.
func TestTheReportSaysWhatSeedsVary(t *testing.T) {
	shape, err := workload.Shape(workload.Day, 10, 0, time.Hour, 1)
	if err != nil {
		t.Fatal(err)
	}
	trace, err := workload.Read("t.csv", strings.NewReader("arrival_s,cpu_millicores\n0,100\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	of := (&Spec{Workload: trace, Volatility: 0.1, Interruptions: 0.1}).drawn()
	if want := []string{"spot prices", "interruptions", "stock", "boot times"}; !slices.Equal(of, want) {
		t.Errorf("of a trace: %v", of)
	}
	if got := (&Spec{Workload: shape}).drawn(); !slices.Equal(got, []string{"the workload", "stock", "boot times"}) {
		t.Errorf("of a shape with prices that stand still and no interruptions: %v", got)
	}
	for _, seeds := range []int{1, 2} {
		a, b := runsOf("a", make([]float64, seeds)...), runsOf("b", make([]float64, seeds)...)
		for _, r := range slices.Concat(a, b) {
			r.Drawn = of
		}
		c, err := Compare([]string{"a", "b"}, [][]*Result{a, b})
		if err != nil {
			t.Fatal(err)
		}
		text, data, page := written(t, &Report{Compared: []string{"a", "b"}, Comparison: c})
		text = strings.Join(strings.Fields(text), " ")
		want := "They vary spot prices, interruptions, stock and boot times, and not the load."
		if seeds > 1 {
			want = "The workload is the same for each seed, so no interval knows of other days"
		}
		if !strings.Contains(text, want) || !strings.Contains(page, want) || strings.Contains(page, "workload, prices and interruptions") || !strings.Contains(data, `"drawnFromSeed":["spot prices"`) {
			t.Errorf("%d seeds: want %q in\n%s", seeds, want, text)
		}
	}
}
