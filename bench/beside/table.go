package beside

import (
	"fmt"
	"slices"
	"time"

	"github.com/kerf-sh/kerf/bench"
)

// Table puts the figures of a story beside each other; the last column is the second controller's over the first's.
func Table(s Story, rows []*Figures) *bench.Table {
	t := &bench.Table{Title: s.Name + ": " + s.What, Head: []string{""}}
	for _, r := range rows {
		t.Head = append(t.Head, r.Controller)
	}
	if len(rows) == 2 {
		t.Head = append(t.Head, "ratio")
	}
	line := func(name, format string, value func(*Figures) float64) {
		cells := []string{name}
		for _, r := range rows {
			cells = append(cells, fmt.Sprintf(format, value(r)))
		}
		if len(rows) == 2 {
			ratio := ""
			if a, b := value(rows[0]), value(rows[1]); a > 0 && b > 0 {
				ratio = fmt.Sprintf("%.2f", b/a)
			}
			cells = append(cells, ratio)
		}
		t.Rows = append(t.Rows, cells)
	}
	line("instances", "%.0f", func(f *Figures) float64 { return float64(f.Instances) })
	line("pods", "%.0f", func(f *Figures) float64 { return float64(f.Pods) })
	line("measured, s", "%.0f", func(f *Figures) float64 { return f.Measured.Seconds() })
	line("CPU, s", "%.2f", func(f *Figures) float64 { return f.CPU.Seconds() })
	line("cores", "%.4f", func(f *Figures) float64 { return f.CPU.Seconds() / f.Measured.Seconds() })
	line("memory, MiB", "%.0f", func(f *Figures) float64 { return float64(f.RSS) / (1 << 20) })
	line("memory at most, MiB", "%.0f", func(f *Figures) float64 { return float64(f.Peak) / (1 << 20) })
	line("calls to AWS a minute", "%.1f", func(f *Figures) float64 { n, _ := f.CallsPerMinute(); return n })
	line("writes to Kubernetes a minute", "%.1f", func(f *Figures) float64 { return float64(f.Writes) / f.Measured.Minutes() })
	line("bill before, $/h", "%.3f", func(f *Figures) float64 { return float64(f.Before) / 1e6 })
	line("bill after, $/h", "%.3f", func(f *Figures) float64 { return float64(f.After) / 1e6 })
	if len(rows) > 0 && rows[0].Served > 0 {
		line("all pods run after, s", "%.1f", func(f *Figures) float64 { return f.Served.Seconds() })
	}
	if len(rows) > 0 && len(rows[0].Curve) > 0 {
		line("within 5 % of where it ended, s", "%.0f", func(f *Figures) float64 { return f.Near.Seconds() })
		line("last change, s (0: not in time)", "%.0f", func(f *Figures) float64 { return f.Steady.Seconds() })
		if len(rows) == 2 {
			t.Rows = append(t.Rows, reached(rows))
		}
	}
	for _, decision := range []string{"provisioning", "disruption"} {
		if slices.ContainsFunc(rows, func(f *Figures) bool { return f.Placed[decision] != Placed{} }) {
			line("pods that "+decision+" gave a place", "%.0f", func(f *Figures) float64 { p := f.Placed[decision]; return float64(p.AsPlanned + p.Elsewhere) })
			line("of them as planned, %", "%.1f", func(f *Figures) float64 { return 100 * f.Placed[decision].Share() })
		}
	}
	return t
}

// reached is when each had come within five percent of the dearer of the two ends, for good: the time to the same bill.
func reached(rows []*Figures) []string {
	end := max(rows[0].After, rows[1].After)
	cells := []string{"to the same bill, s"}
	var took [2]time.Duration
	for k, r := range rows {
		for i := len(r.Curve) - 1; i >= 0 && r.Curve[i].MicroUSD <= end+end/20; i-- {
			took[k] = r.Curve[i].At
		}
		cells = append(cells, fmt.Sprintf("%.0f", took[k].Seconds()))
	}
	ratio := ""
	if took[0] > 0 {
		ratio = fmt.Sprintf("%.2f", took[1].Seconds()/took[0].Seconds())
	}
	return append(cells, ratio)
}
