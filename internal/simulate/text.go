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
	// Compared are the names of the configurations where several are to be compared.
	Compared []string `json:"compared,omitempty"`
	// Runs are the results of one configuration, one for each seed. Of several configurations they are what a comparison that was
	// interrupted has beside Comparison: runs that are compared with nothing.
	Runs []*Result `json:"runs,omitempty"`
	// Comparison is there where several configurations have finished a seed.
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
	case len(r.Compared) > 0:
		r.writeCompared(&b)
	case len(r.Runs) == 1:
		r.Runs[0].write(&b)
	case len(r.Runs) > 1:
		writeRuns(&b, r.Runs)
	}
	if r.Interrupted != "" {
		fmt.Fprintf(&b, "\nINTERRUPTED: %s\n", r.Interrupted)
	}
	for i := range r.Verdicts {
		fmt.Fprintln(&b, r.verdict(&r.Verdicts[i]))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// verdict is the line of an assertion.
func (r *Report) verdict(v *Verdict) string {
	word, of := "ok    ", ""
	if !v.Holds {
		word = "FAILED"
	}
	if len(r.Compared) > 0 {
		of = v.Configuration + ": "
	}
	return fmt.Sprintf("%s %s%s: %s (seed %d)", word, of, v.Assertion, v.value(), v.Seed)
}

// Failures are the lines of the assertions that do not hold.
func (r *Report) Failures() []string {
	var out []string
	for i := range r.Verdicts {
		if v := &r.Verdicts[i]; !v.Holds {
			out = append(out, r.verdict(v))
		}
	}
	return out
}

// value writes a figure with its unit, which for an amount is what it begins with.
func value(v float64, unit string) string {
	switch unit {
	case "":
		return report.Number(v)
	case "%":
		return fmt.Sprintf("%.1f %%", math.Round(10*v)/10+0) // + 0 makes 0 of −0
	case "s":
		return seconds(v)
	}
	return report.Money(unit).Amount(v)
}

func seconds(v float64) string {
	if v < 120 {
		return report.Number(math.Round(v*10)/10) + " s"
	}
	return time.Duration(v * float64(time.Second)).Round(time.Second).String()
}

func (r *Result) write(b *bytes.Buffer) {
	t, money := &r.Totals, r.money()
	title := r.Workload
	if r.Configuration != "" {
		title = r.Configuration + ": " + title
	}
	fmt.Fprintf(b, "%s, %s, seed %d\n", title, span(r.Simulated()), r.Seed)
	writePlayed(b, r, []string{r.place()}, r.regionNote(), r.SpotPrices, r.settingsNote(""), r.Partial, standsFor(r.Simulated(), r.Played))
	if r.Interrupted {
		fmt.Fprintf(b, "Ended early: of %s asked for, %s were simulated, and all figures are of these.\n", span(time.Duration(r.HorizonSeconds)*time.Second), span(r.Simulated()))
	}
	b.WriteByte('\n')
	hourly := t.Bill / max(r.Simulated().Hours(), 1e-9)
	fmt.Fprintf(b, "Bill         %s, which is %s a day and %s a month of %d hours; the least that the pods could cost is %s: %s\n",
		money.Amount(t.Bill), money.Amount(hourly*24), money.Amount(hourly*report.HoursPerMonth), report.HoursPerMonth, money.Amount(t.Floor), t.above())
	bill, least := r.line(func(s *Sample) float64 { return s.Bill }), r.line(func(s *Sample) float64 { return s.Floor })
	top := most(bill, least)
	fmt.Fprintf(b, "  %-10s %s  up to %s\n", money+"/h", spark(bill, top), money.Amount(top))
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
	if t.Pods > 0 && t.P50 != nil {
		fmt.Fprintf(b, "; from created to running: p50 %s, p95 %s, p99 %s, longest %s\n", seconds(*t.P50), seconds(*t.P95), seconds(*t.P99), seconds(*t.Max))
	} else {
		b.WriteString("; from created to running: none\n")
	}
	running, pending := r.line(func(s *Sample) float64 { return float64(s.Running) }), r.line(func(s *Sample) float64 { return float64(s.Pending) })
	fmt.Fprintf(b, "  running    %s  up to %.0f\n", spark(running, most(running)), most(running))
	if most(pending) > 0 {
		fmt.Fprintf(b, "  pending    %s  up to %.0f\n", spark(pending, most(pending)), most(pending))
	}
	fmt.Fprintf(b, "Moved        %s%s; %s replaced or removed\n", many(t.Moved, "pod"), listed(r.Moved), many(t.Disrupted, "node"))
	if text := mostMovedOf([]*Result{r}); text != "" {
		fmt.Fprintf(b, "  workloads  %s\n", text)
	}
	fmt.Fprintf(b, "Interrupted  %s%s; %s ended with their instance\n", many(t.Interruptions, "spot instance"), expected([]*Result{r}), many(t.Lost, "pod"))
	if t.Refused == 0 {
		fmt.Fprintf(b, "Refused      no pod waited for %s\n", r.refusedAfter())
	} else {
		fmt.Fprintf(b, "REFUSED      %s\n", many(t.Refused, "pod"))
		for i, f := range r.Refused {
			if i == refusalsShown {
				fmt.Fprintf(b, "          and %d more reasons (-o json has all)\n", len(r.Refused)-i)
				break
			}
			fmt.Fprintf(b, "  %6d × %s (%s)\n", f.Count, f.Reason, f.Example)
		}
	}
	for _, text := range []string{belowFloor([]*Result{r}), tooFew([]*Result{r})} {
		if text != "" {
			fmt.Fprintf(b, "\nNOTE: %s\n", text)
		}
	}
	writeNotes(b, r.Notes)
}

// writePlayed says which hours were played, where and at which prices, how often spot instances were interrupted, and what has to be known
// of these; empty texts are left out.
func writePlayed(b *bytes.Buffer, r *Result, places []string, warnings ...string) {
	if r.Played != "" {
		fmt.Fprintf(b, "Played: %s\n", r.Played)
	}
	for _, text := range places {
		if text != "" {
			fmt.Fprintf(b, "Region: %s\n", text)
		}
	}
	fmt.Fprintf(b, "Spot interruptions: %s\n", r.rateText())
	for _, text := range warnings {
		if text != "" {
			fmt.Fprintf(b, "NOTE: %s\n", text)
		}
	}
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

// refusedAfter says for how long pods that count as refused had no node.
func (r *Result) refusedAfter() string {
	out := "ten minutes"
	if after := time.Duration(r.RefusedAfterSeconds) * time.Second; after > 0 && after < refusedAfter {
		out += ", or for " + span(after) + " at the end of so short a run"
	}
	return out
}

func span(d time.Duration) string {
	switch h := d.Hours(); {
	case d%time.Hour == 0 && h >= 48 && int(h)%24 == 0:
		return fmt.Sprintf("%.0f days", h/24)
	case d%time.Hour == 0:
		return many(int(h), "hour")
	case d%time.Minute == 0 && d < time.Hour:
		return many(int(d.Minutes()), "minute")
	}
	return d.Round(time.Second).String()
}

// many is a number of things in words.
func many(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
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
	fmt.Fprintf(b, "%s, %s, %d seeds; ± is half of the 95 %% confidence interval of the mean\n", r.Workload, span(r.Simulated()), len(runs))
	writePlayed(b, r, []string{r.place()}, r.regionNote(), ofSpot(runs), r.settingsNote(""), r.Partial, standsFor(r.Simulated(), r.Played))
	b.WriteByte('\n')
	of := Configured{Results: runs}
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	for i := range Metrics {
		m := Metrics[i].in(r.money())
		e := EstimateOf(of.values(m))
		fmt.Fprintf(w, "%s\t%s\n", m.Title, m.text(&e))
	}
	_ = w.Flush()
	writeMoved(b, "", runs)
	for _, text := range []string{belowFloor(runs), tooFew(runs)} {
		if text != "" {
			fmt.Fprintf(b, "\nNOTE: %s\n", text)
		}
	}
	if text := drawnText(r.Drawn); text != "" {
		fmt.Fprintf(b, "\n%s\n", folded(text, textWidth))
	}
	writeNotes(b, r.Notes)
}

// writeMoved writes why pods were moved and which were most; of is a word in front.
func writeMoved(b *bytes.Buffer, of string, runs []*Result) {
	if text := whyMoved(runs); text != "" {
		fmt.Fprintf(b, "%smoved, by why: %s\n", of, text)
	}
	if text := mostMovedOf(runs); text != "" {
		fmt.Fprintf(b, "%smoved most: %s\n", of, text)
	}
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
