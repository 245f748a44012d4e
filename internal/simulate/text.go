package simulate

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/kerf-sh/kerf/internal/report"
	"github.com/kerf-sh/kerf/internal/simulate/workload"
)

// chartWidth is how many characters a chart in a terminal has.
const chartWidth = 60

// refusalsShown is how many reasons of refusals the text has.
const refusalsShown = 10

// Report is what a simulation says: of one configuration or of several.
type Report struct {
	// Runs are the results of one configuration, one for each seed.
	Runs []*Result `json:"runs,omitempty"`
	// Comparison is there instead of Runs where there are several configurations.
	Comparison *Comparison `json:"comparison,omitempty"`
	Verdicts   []Verdict   `json:"assertions,omitempty"`
	// Interrupted says that it was ended early, and what is missing.
	Interrupted string `json:"interrupted,omitempty"`
}

// Failed tells whether an assertion does not hold.
func (r *Report) Failed() bool {
	for i := range r.Verdicts {
		if !r.Verdicts[i].Holds {
			return true
		}
	}
	return false
}

// WriteText writes the report for people.
func (r *Report) WriteText(w io.Writer) error {
	var b bytes.Buffer
	switch {
	case r.Comparison != nil:
		r.Comparison.write(&b)
	case len(r.Runs) == 1:
		r.Runs[0].write(&b)
	case len(r.Runs) > 1:
		writeRuns(&b, r.Runs)
	}
	if r.Interrupted != "" {
		fmt.Fprintf(&b, "\nINTERRUPTED: %s\n", r.Interrupted)
	}
	for _, v := range r.Verdicts {
		word := "ok    "
		if !v.Holds {
			word = "FAILED"
		}
		of := ""
		if r.Comparison != nil {
			of = v.Configuration + ": "
		}
		fmt.Fprintf(&b, "%s %s%s: %s (seed %d)\n", word, of, v.Assertion, v.value(), v.Seed)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// value writes a figure with its unit.
func value(v float64, unit string) string {
	switch unit {
	case "$":
		return report.Dollars(v)
	case "%":
		return fmt.Sprintf("%.1f %%", math.Round(10*v)/10+0) // + 0 makes 0 of −0
	case "s":
		return seconds(v)
	}
	return report.Number(v)
}

func seconds(v float64) string {
	if v < 120 {
		return fmt.Sprintf("%.3g s", v)
	}
	return time.Duration(v * float64(time.Second)).Round(time.Second).String()
}

func (r *Result) write(b *bytes.Buffer) {
	t := &r.Totals
	title := r.Workload
	if r.Configuration != "" {
		title = r.Configuration + ": " + title
	}
	fmt.Fprintf(b, "%s, %s, seed %d\n", title, span(r.Simulated()), r.Seed)
	if r.Interrupted {
		fmt.Fprintf(b, "Ended early: of %s asked for, %s were simulated, and all figures are of these.\n", span(time.Duration(r.HorizonSeconds)*time.Second), span(r.Simulated()))
	}
	b.WriteByte('\n')
	fmt.Fprintf(b, "Bill         %s, %s a day; the least that the pods could cost is %s: %s above it\n", report.Dollars(t.Bill), report.Dollars(t.Bill*24/max(r.Simulated().Hours(), 1e-9)), report.Dollars(t.Floor), value(t.Distance, "%"))
	bill, least := r.line(func(s *Sample) float64 { return s.Bill }), r.line(func(s *Sample) float64 { return s.Floor })
	top := most(bill, least)
	fmt.Fprintf(b, "  $/h        %s  up to %s\n", spark(bill, top), report.Dollars(top))
	fmt.Fprintf(b, "  floor      %s\n", spark(least, top))
	fmt.Fprintf(b, "Instances    %.1f on average, %d at most; %d launched, %d terminated; %.0f %% of the bill is spot\n", t.NodesMean, t.NodesMax, t.Launches, t.Terminations, t.SpotShare)
	spot, demand := r.line(func(s *Sample) float64 { return float64(s.Spot) }), r.line(func(s *Sample) float64 { return float64(s.Demand + s.Other) })
	fmt.Fprintf(b, "  spot       %s  up to %.0f\n", spark(spot, most(spot)), most(spot))
	if most(demand) > 0 {
		fmt.Fprintf(b, "  on demand  %s  up to %.0f\n", spark(demand, most(demand)), most(demand))
	}
	fmt.Fprintf(b, "Pods         %d began to run", t.Pods)
	if t.Waiting > 0 {
		fmt.Fprintf(b, ", %d never did (they count with their wait so far)", t.Waiting)
	}
	if t.Pods > 0 {
		fmt.Fprintf(b, "; from created to running: p50 %s, p95 %s, p99 %s, longest %s\n", seconds(t.P50), seconds(t.P95), seconds(t.P99), seconds(t.Max))
	} else {
		b.WriteString("; from created to running: none\n")
	}
	running, pending := r.line(func(s *Sample) float64 { return float64(s.Running) }), r.line(func(s *Sample) float64 { return float64(s.Pending) })
	fmt.Fprintf(b, "  running    %s  up to %.0f\n", spark(running, most(running)), most(running))
	if most(pending) > 0 {
		fmt.Fprintf(b, "  pending    %s  up to %.0f\n", spark(pending, most(pending)), most(pending))
	}
	fmt.Fprintf(b, "Moved        %d pods%s\n", t.Moved, listed(r.Moved))
	fmt.Fprintf(b, "Interrupted  %d spot instances; %d pods ended with their instance\n", t.Interruptions, t.Lost)
	if t.Refused == 0 {
		fmt.Fprintf(b, "Refused      no pod waited for ten minutes\n")
	} else {
		fmt.Fprintf(b, "REFUSED      %d pods\n", t.Refused)
		for i, f := range r.Refused {
			if i == refusalsShown {
				fmt.Fprintf(b, "          and %d more reasons (-o json has all)\n", len(r.Refused)-i)
				break
			}
			fmt.Fprintf(b, "  %6d × %s (%s)\n", f.Count, f.Reason, f.Example)
		}
	}
	writeNotes(b, r.Notes)
}

func writeNotes(b *bytes.Buffer, notes []workload.Note) {
	if len(notes) == 0 {
		return
	}
	b.WriteString("\nOther than in your cluster:\n")
	for _, n := range notes {
		fmt.Fprintf(b, "  - %s", n.What)
		switch {
		case n.Count > 1 && n.Example != "":
			fmt.Fprintf(b, " (%d, such as %s)", n.Count, n.Example)
		case n.Example != "":
			fmt.Fprintf(b, " (%s)", n.Example)
		}
		b.WriteByte('\n')
	}
}

func span(d time.Duration) string {
	switch h := d.Hours(); {
	case d%time.Hour == 0 && h >= 48 && int(h)%24 == 0:
		return fmt.Sprintf("%.0f days", h/24)
	case d%time.Hour == 0:
		return fmt.Sprintf("%.0f h", h)
	}
	return d.Round(time.Second).String()
}

func listed(counts []Count) string {
	var out []string
	for _, c := range counts {
		out = append(out, fmt.Sprintf("%d %s", c.Count, c.Reason))
	}
	if len(out) == 0 {
		return ""
	}
	return ": " + strings.Join(out, ", ")
}

// line is one value of all samples.
func (r *Result) line(of func(*Sample) float64) []float64 {
	out := make([]float64, len(r.Series))
	for i := range r.Series {
		out[i] = of(&r.Series[i])
	}
	return out
}

func most(lines ...[]float64) float64 {
	out := 0.0
	for _, l := range lines {
		for _, v := range l {
			out = max(out, v)
		}
	}
	return out
}

// spark draws values as a line of blocks: each is the mean of its part of them, but a part that has any is never blank.
func spark(values []float64, top float64) string {
	blocks := []rune(" ▁▂▃▄▅▆▇█")
	width := min(chartWidth, len(values))
	var out strings.Builder
	for i := range width {
		from, to := i*len(values)/width, (i+1)*len(values)/width
		sum := 0.0
		for _, v := range values[from:to] {
			sum += v
		}
		height := 0
		if top > 0 && sum > 0 {
			height = max(1, int(math.Round(sum/float64(to-from)/top*8)))
		}
		out.WriteRune(blocks[min(height, 8)])
	}
	return out.String()
}

// writeRuns writes the means over seeds.
func writeRuns(b *bytes.Buffer, runs []*Result) {
	r := runs[0]
	fmt.Fprintf(b, "%s, %s, %d seeds; ± is the 95 %% confidence interval of the mean\n\n", r.Workload, span(r.Simulated()), len(runs))
	of := Configured{Results: runs}
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	for i := range Metrics {
		m := &Metrics[i]
		e := EstimateOf(of.values(m))
		fmt.Fprintf(w, "%s\t%s\n", m.Title, e.text(m.Unit))
	}
	_ = w.Flush()
	writeNotes(b, r.Notes)
}

// text writes an estimate with its unit.
func (e *Estimate) text(unit string) string {
	if e.N == 0 {
		return "none"
	}
	if e.Half == nil {
		return value(e.Mean, unit)
	}
	return value(e.Mean, unit) + " ± " + value(*e.Half, unit)
}

// signed writes a difference.
func (e *Estimate) signed(unit string) string {
	sign := "+"
	if e.Mean < 0 {
		sign = "−"
	}
	out := sign + value(math.Abs(e.Mean), unit)
	if e.Half != nil {
		out += " ± " + value(*e.Half, unit)
	}
	return out
}

// text says a difference: in percent where that is what one decides by, else how many times as much it is.
func (d *Difference) text(m *Metric) string {
	switch {
	case d.Absolute.N == 0:
		return "none"
	case d.Absolute.Mean == 0 && (d.Absolute.Half == nil || *d.Absolute.Half == 0):
		return "the same"
	case m.Unit == "$" && d.Percent != nil:
		return d.Percent.signed("%")
	case m.Unit == "" && d.Times != nil && d.Absolute.N > 0:
		return fmt.Sprintf("%.2f × as many", *d.Times)
	case m.Unit == "%":
		return strings.ReplaceAll(d.Absolute.signed("%"), " %", "") + " points"
	}
	return d.Absolute.signed(m.Unit)
}

// sure says how sure a difference is.
func (d *Difference) sure() string {
	switch {
	case d.Absolute.N == 0:
		return "no pod began to run in one of them"
	case d.Told, d.Absolute.Mean == 0 && d.Absolute.Half != nil && *d.Absolute.Half == 0:
		return ""
	case d.Absolute.N < 2:
		return "one seed can't tell it from chance"
	case d.Wanted > 0:
		return fmt.Sprintf("may be chance; about %d seeds would tell", d.Wanted)
	}
	return "may be chance"
}

// compared are the figures that a comparison shows first.
var compared = []string{"bill", "distance", "p99_pending", "moved", "launches"}

func (c *Comparison) write(b *bytes.Buffer) {
	fmt.Fprintf(b, "%s, %s, %s", c.Workload, span(c.Horizon()), seedsText(c.Seeds))
	if len(c.LeftOut) > 0 {
		fmt.Fprintf(b, "; left out, for not all have played them: %s", seedsText(c.LeftOut))
	}
	b.WriteString("\n\n")
	first := c.Configurations[0].Name
	for _, of := range c.Configurations[1:] {
		fmt.Fprintf(b, "%s against %s:\n", of.Name, first)
		w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
		for _, name := range compared {
			m, _ := metric(name)
			d := c.difference(of.Name, name)
			fmt.Fprintf(w, "  %s\t%s\t%s\n", m.Title, d.text(m), d.sure())
		}
		_ = w.Flush()
	}
	b.WriteByte('\n')
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "\t")
	for _, of := range c.Configurations {
		fmt.Fprintf(w, "%s\t", of.Name)
	}
	fmt.Fprintln(w)
	for i, f := range c.Figures {
		m := &Metrics[i]
		fmt.Fprintf(w, "%s\t", m.Title)
		for k := range f.Of {
			fmt.Fprintf(w, "%s\t", f.Of[k].text(m.Unit))
		}
		fmt.Fprintln(w)
	}
	_ = w.Flush()
	if len(c.Seeds) > 1 {
		b.WriteString("\n± is half of the 95 % confidence interval, by Student's t. Differences are those of each seed with itself.\n")
	} else {
		b.WriteString("\nThere is one seed, so nothing says how much of the differences is chance: play more (--seeds 1-10).\n")
	}
	for _, of := range c.Configurations {
		if r := of.Results[0]; r.Totals.Refused > 0 {
			fmt.Fprintf(b, "\n%s refused %d pods, such as %s: %s\n", of.Name, r.Totals.Refused, r.Refused[0].Example, r.Refused[0].Reason)
		}
	}
	writeNotes(b, c.notes())
}

// notes are those of all configurations, each once.
func (c *Comparison) notes() []workload.Note {
	var out []workload.Note
	for _, of := range c.Configurations {
		for _, n := range of.Results[0].Notes {
			known := false
			for _, o := range out {
				known = known || o.What == n.What
			}
			if !known {
				out = append(out, n)
			}
		}
	}
	return out
}

func seedsText(seeds []uint64) string {
	if len(seeds) == 1 {
		return fmt.Sprintf("seed %d", seeds[0])
	}
	for i, s := range seeds {
		if s != seeds[0]+uint64(i) {
			var out []string
			for _, s := range seeds {
				out = append(out, fmt.Sprint(s))
			}
			return "seeds " + strings.Join(out, ", ")
		}
	}
	return fmt.Sprintf("seeds %d to %d", seeds[0], seeds[len(seeds)-1])
}
