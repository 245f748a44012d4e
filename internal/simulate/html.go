package simulate

import (
	"fmt"
	"io"
	"math"
	"time"

	"github.com/kerf-sh/kerf/internal/report"
	"github.com/kerf-sh/kerf/internal/simulate/workload"
)

// footer says on what the figures stand.
var footer = []string{
	"The controller is the one that runs in clusters, unmodified, in virtual time, against a simulated AWS and a simulated Kubernetes API.",
	"Prices and instance types are those that this version of Kerf brings; the bill is for instances alone, without volumes and traffic.",
	"The floor is a proved lower bound on what the pods that run could cost at each moment, by the same prices. No choice of instances reaches below it.",
}

// WriteHTML writes the report as a page.
func (r *Report) WriteHTML(w io.Writer) error {
	var p report.Page
	switch {
	case r.Comparison != nil:
		p = r.Comparison.page()
	case len(r.Runs) > 0:
		p = pageOf(r.Runs)
	default:
		p = report.Page{Title: "Simulation"}
	}
	if r.Interrupted != "" {
		p.Sections = append([]report.Section{{Title: "Ended early", Blocks: []report.Block{report.Notes{{Text: r.Interrupted, Tone: report.Warn}}}}}, p.Sections...)
	}
	if len(r.Verdicts) > 0 {
		t := report.Table{Columns: []report.Column{{Title: "Configuration"}, {Title: "Assertion"}, {Title: "Worst", Number: true}, {Title: "Seed", Number: true}, {Title: ""}}}
		for _, v := range r.Verdicts {
			word := report.Cell{Text: "holds", Tone: report.Good}
			if !v.Holds {
				word = report.Cell{Text: "does not hold", Tone: report.Bad}
			}
			t.Rows = append(t.Rows, append(report.Cells(v.Configuration, v.Assertion, v.value(), fmt.Sprint(v.Seed)), word))
		}
		p.Sections = append([]report.Section{{Title: "Assertions", Blocks: []report.Block{t}}}, p.Sections...)
	}
	p.Footer = footer
	return p.Write(w)
}

// plotMost is how many points a line has at most: a page has room for no more.
const plotMost = 400

// line makes a line of one value of all samples, with the least and the most of the seeds as a band.
func line(name string, hue report.Hue, runs []*Result, of func(*Sample) float64) report.Series {
	out := report.Series{Name: name, Hue: hue}
	n := len(runs[0].Series)
	for _, r := range runs {
		n = min(n, len(r.Series))
	}
	step := (n + plotMost - 1) / plotMost
	for i := 0; i < n; i += max(step, 1) {
		p := report.Point{At: time.Duration(runs[0].Series[i].At) * time.Second, Low: math.Inf(1), High: math.Inf(-1)}
		for _, r := range runs {
			sum, count := 0.0, 0
			for k := i; k < min(i+max(step, 1), n); k++ {
				sum += of(&r.Series[k])
				count++
			}
			v := sum / float64(count)
			p.Value += v / float64(len(runs))
			p.Low, p.High = min(p.Low, v), max(p.High, v)
		}
		if len(runs) == 1 {
			p.Low, p.High = 0, 0
		}
		out.Points = append(out.Points, p)
	}
	return out
}

func perHour(v float64) string { return report.Dollars(v) + "/h" }

// Values of samples.
func sBill(s *Sample) float64    { return s.Bill }
func sFloor(s *Sample) float64   { return s.Floor }
func sSpot(s *Sample) float64    { return float64(s.Spot) }
func sDemand(s *Sample) float64  { return float64(s.Demand + s.Other) }
func sRunning(s *Sample) float64 { return float64(s.Running) }
func sPending(s *Sample) float64 { return float64(s.Pending) }
func sNodes(s *Sample) float64   { return float64(s.Spot + s.Demand + s.Other) }

func dashed(s report.Series) report.Series { s.Dashed = true; return s }

// pageOf is the page of one configuration.
func pageOf(runs []*Result) report.Page {
	r := runs[0]
	of := Configured{Results: runs}
	est := func(name string) string {
		m, _ := metric(name)
		e := EstimateOf(of.values(m))
		return e.text(m.Unit)
	}
	day := 24 / max(r.Simulated().Hours(), 1e-9)
	mean := EstimateOf(of.values(&Metrics[0])).Mean
	seeds := make([]uint64, len(runs))
	for i := range runs {
		seeds[i] = runs[i].Seed
	}
	p := report.Page{
		Title: "Simulation of " + r.Workload, Subtitle: subtitle(r.Configuration, r.Simulated(), seeds),
		Figures: []report.Figure{
			{Label: "bill", Value: est("bill"), Note: report.Dollars(mean*day) + " a day, " + report.Dollars(mean*day*30) + " in 30 days"},
			{Label: "above the floor", Value: est("distance"), Note: "the floor is " + est("floor")},
			{Label: "pending, p99", Value: est("p99_pending"), Note: "half of the pods run within " + est("p50_pending")},
			{Label: "pods moved", Value: est("moved"), Note: est("lost") + " lost with their instance"},
			{Label: "refused", Value: est("refused"), Note: "pods without a node for ten minutes", Tone: toneOf(r.Totals.Refused == 0)},
		},
	}
	intro := ""
	if len(runs) > 1 {
		intro = "Lines are means over the seeds; bands reach from the least to the most."
	}
	p.Sections = append(p.Sections, report.Section{Title: "What it costs", Intro: intro, Blocks: []report.Block{
		report.Lines{Title: "Bill and floor, dollars per hour", Format: perHour, Series: []report.Series{line("bill", report.Hue0, runs, sBill), dashed(line("floor", report.Hue1, runs, sFloor))}},
		report.Lines{Title: "Instances", Series: []report.Series{line("spot", report.Hue0, runs, sSpot), line("on demand", report.Hue2, runs, sDemand)}},
	}}, report.Section{Title: "What pods see", Blocks: []report.Block{
		report.Lines{Title: "Pods", Series: []report.Series{line("running", report.Hue0, runs, sRunning), line("pending", report.Hue3, runs, sPending)}},
		pendingBars("From created to running", runs),
	}}, report.Section{Title: "What was moved, interrupted, refused", Blocks: outcomes(runs)}, report.Section{Title: "All figures", Blocks: []report.Block{figures([]Configured{{Name: "value", Results: runs}}, nil)}})
	p.Sections = append(p.Sections, about(r.Notes, r.Settings)...)
	return p
}

func subtitle(configuration string, d time.Duration, seeds []uint64) string {
	out := span(d) + ", " + seedsText(seeds)
	if configuration != "" {
		out = configuration + ", " + out
	}
	return out
}

func toneOf(good bool) report.Tone {
	if good {
		return report.Good
	}
	return report.Bad
}

// pendingBars are how many pods waited how long.
func pendingBars(title string, runs []*Result) report.Bars {
	out := report.Bars{Title: title}
	total := 0
	counts := make([]int, len(edges)+1)
	for _, r := range runs {
		for i, b := range r.Pending {
			counts[i] += b.Count
			total += b.Count
		}
	}
	last := 0
	for i, n := range counts {
		if n > 0 {
			last = i
		}
	}
	from := 0.0
	for i, n := range counts[:last+1] {
		label := "longer"
		if i < len(edges) {
			label = fmt.Sprintf("%s to %s", seconds(from), seconds(edges[i]))
			from = edges[i]
		}
		out.Rows = append(out.Rows, report.Bar{Label: label, Value: fmt.Sprintf("%d · %s", n, report.Percent(float64(n)/float64(max(total, 1)))), Parts: []float64{float64(n)}})
	}
	return out
}

// outcomes are what was moved, and what was refused.
func outcomes(runs []*Result) []report.Block {
	moved := report.Table{Title: "Pods moved", Columns: []report.Column{{Title: "Why"}, {Title: "Pods", Number: true}}, Empty: "No pod was moved."}
	sums, refused := map[string]int{}, map[string]Refusal{}
	interruptions, lost := 0, 0
	for _, r := range runs {
		for _, c := range r.Moved {
			sums[c.Reason] += c.Count
		}
		for _, f := range r.Refused {
			f.Count += refused[f.Reason].Count
			refused[f.Reason] = f
		}
		interruptions, lost = interruptions+r.Totals.Interruptions, lost+r.Totals.Lost
	}
	for _, c := range countsOf(sums) {
		moved.Rows = append(moved.Rows, report.Cells(c.Reason, fmt.Sprint(c.Count)))
	}
	interrupted := "No spot instance was interrupted."
	if interruptions > 0 {
		interrupted = fmt.Sprintf("%d spot instances were interrupted. %d pods ended with their instance; the others on these instances were moved in the two minutes of notice.", interruptions, lost)
	}
	out := []report.Block{moved, report.Text(interrupted)}
	var notes report.Notes
	byCount := map[string]int{}
	for why, f := range refused {
		byCount[why] = f.Count
	}
	for _, c := range countsOf(byCount) {
		notes = append(notes, report.Note{Text: fmt.Sprintf("%d pods had no node, such as %s", c.Count, refused[c.Reason].Example), Detail: c.Reason, Tone: report.Bad})
	}
	if len(notes) > 0 {
		out = append(out, notes)
	}
	return out
}

// figures are all figures, of each configuration, and of those after the first how they differ.
func figures(all []Configured, c *Comparison) report.Table {
	t := report.Table{Columns: []report.Column{{Title: "Figure"}}}
	for i, of := range all {
		t.Columns = append(t.Columns, report.Column{Title: of.Name, Number: true})
		if c != nil && i > 0 {
			t.Columns = append(t.Columns, report.Column{Title: "against " + all[0].Name, Number: true})
		}
	}
	for i := range Metrics {
		m := &Metrics[i]
		row := report.Cells(m.Title)
		for k := range all {
			e := EstimateOf(all[k].values(m))
			row = append(row, report.Cell{Text: e.text(m.Unit)})
			if c == nil || k == 0 {
				continue
			}
			d := c.difference(all[k].Name, m.Name)
			cell := report.Cell{Text: d.text(m), Detail: d.sure()}
			if d.Told && m.Better != 0 {
				cell.Tone = toneOf(d.Absolute.Mean*float64(m.Better) > 0)
			}
			row = append(row, cell)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// about says what is other than in a cluster, and by which settings.
func about(notes []workload.Note, settings map[string]string) []report.Section {
	var list report.Notes
	for _, n := range notes {
		one := report.Note{Text: n.What, Detail: n.Example}
		if n.Count > 1 {
			one.Value = fmt.Sprintf("%d times", n.Count)
		}
		list = append(list, one)
	}
	var out []report.Section
	if len(list) > 0 {
		out = append(out, report.Section{Title: "Other than in your cluster", Blocks: []report.Block{list}})
	}
	if len(settings) > 0 {
		t := report.Table{Columns: []report.Column{{Title: "Setting"}, {Title: "Value"}}}
		for _, name := range sortedKeys(settings) {
			t.Rows = append(t.Rows, report.Cells(name, settings[name]))
		}
		out = append(out, report.Section{Title: "Settings that were given", Blocks: []report.Block{t}})
	}
	return out
}

// page is the page of a comparison: what one decides by first, then the lines of all in one picture, then all figures.
func (c *Comparison) page() report.Page {
	all := c.Configurations
	p := report.Page{Title: "Comparison of " + fmt.Sprint(len(all)) + " configurations", Subtitle: c.Workload + ", " + subtitle("", c.Horizon(), c.Seeds)}
	bars := report.Bars{Title: "Bill; the mark is the floor"}
	pending, moved := report.Bars{Title: "Pending time, p99"}, report.Bars{Title: "Pods moved"}
	for i := range all {
		t := func(name string) Estimate {
			m, _ := metric(name)
			return EstimateOf(all[i].values(m))
		}
		bill, floor, p99, moves := t("bill"), t("floor"), t("p99_pending"), t("moved")
		bars.Rows = append(bars.Rows, report.Bar{Label: all[i].Name, Value: bill.text("$"), Parts: []float64{bill.Mean}, Mark: floor.Mean})
		pending.Rows = append(pending.Rows, report.Bar{Label: all[i].Name, Value: p99.text("s"), Parts: []float64{p99.Mean}})
		moved.Rows = append(moved.Rows, report.Bar{Label: all[i].Name, Value: moves.text(""), Parts: []float64{moves.Mean}})
	}
	first := all[0].Name
	for _, of := range all[1:] {
		bill := c.difference(of.Name, "bill")
		f := report.Figure{Label: of.Name + " against " + first + ": bill", Value: bill.text(&Metrics[0])}
		for _, name := range []string{"moved", "p99_pending"} {
			m, _ := metric(name)
			d := c.difference(of.Name, name)
			f.Note += m.Title + ": " + d.text(m)
			if s := d.sure(); s != "" {
				f.Note += " (" + s + ")"
			}
			f.Note += ". "
		}
		if s := bill.sure(); s != "" {
			f.Note = "Bill: " + s + ". " + f.Note
		} else {
			f.Tone = toneOf(bill.Absolute.Mean <= 0)
		}
		p.Figures = append(p.Figures, f)
	}
	how := "± is half of the 95 % confidence interval over the seeds. Differences are those of each seed with itself, which have less chance in them than the values."
	if len(c.Seeds) < 2 {
		how = "There is one seed, so nothing says how much of the differences is chance: play more with --seeds 1-10."
	}
	lines := func(title string, format func(float64) string, of func(*Sample) float64, floor bool) report.Lines {
		out := report.Lines{Title: title, Format: format}
		for i := range all {
			out.Series = append(out.Series, line(all[i].Name, report.Hue(i%report.Hues), all[i].Results, of))
		}
		if floor {
			out.Series = append(out.Series, dashed(line("floor of "+first, report.Rest, all[0].Results, sFloor)))
		}
		return out
	}
	p.Sections = []report.Section{
		{Title: "What to decide by", Intro: how, Blocks: []report.Block{bars, pending, moved}},
		{Title: "Over time", Intro: "Lines are means over the seeds; bands reach from the least to the most.", Blocks: []report.Block{
			lines("Bill, dollars per hour", perHour, sBill, true), lines("Instances", nil, sNodes, false), lines("Pods pending", nil, sPending, false),
		}},
		{Title: "All figures", Blocks: []report.Block{figures(all, c)}},
	}
	for i := range all {
		p.Sections = append(p.Sections, report.Section{Title: all[i].Name, Blocks: append([]report.Block{pendingBars("From created to running", all[i].Results)}, outcomes(all[i].Results)...)})
		for _, s := range about(nil, all[i].Results[0].Settings) {
			s.Title = all[i].Name + ": " + s.Title
			p.Sections = append(p.Sections, s)
		}
	}
	p.Sections = append(p.Sections, about(c.notes(), nil)...)
	if len(c.LeftOut) > 0 {
		p.Footer = append(p.Footer, "Left out, for not all have played them: "+seedsText(c.LeftOut)+".")
	}
	return p
}
