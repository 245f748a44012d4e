package simulate

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/kerf-sh/kerf/internal/report"
	"github.com/kerf-sh/kerf/internal/simulate/workload"
)

// footer says on what the figures stand.
var footer = []string{
	"The controller is the one that runs in clusters, unmodified, in virtual time, against a simulated AWS and a simulated Kubernetes API.",
	"Prices and instance types are those that this version of Kerf brings; the bill is for instances alone, without volumes and traffic. A month is 730 hours.",
	"The floor is a proved lower bound on what the pods that run could cost at each moment, by the same prices. No choice of instances that the configuration's own NodePools allow reaches below it: where NodePools allow other instances, floors and the distances to them can't be compared.",
}

// WriteHTML writes the report as a page.
func (r *Report) WriteHTML(w io.Writer) error {
	var p report.Page
	switch {
	case len(r.Compared) > 0:
		p = r.comparedPage()
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
	p.Footer = slices.Concat(footer, r.places())
	return p.Write(w)
}

// places are where the runs were played and at which prices, for the footer.
func (r *Report) places() []string {
	runs := r.Runs
	if r.Comparison != nil {
		for _, c := range r.Comparison.Configurations {
			runs = append(slices.Clone(runs), c.Results[0])
		}
	}
	var out []string
	for _, run := range runs {
		if text := "Region: " + run.place() + "."; run.Region != "" && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
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
	r, money := runs[0], runs[0].money()
	of := Configured{Results: runs}
	est := func(name string) string {
		m := r.metric(name)
		e := EstimateOf(of.values(m))
		return m.text(&e)
	}
	hours := max(r.Simulated().Hours(), 1e-9)
	bill := EstimateOf(of.values(&Metrics[0]))
	hourly := bill.mean() / hours
	seeds := make([]uint64, len(runs))
	for i := range runs {
		seeds[i] = runs[i].Seed
	}
	p := report.Page{
		Title: "Simulation of " + r.Workload, Subtitle: subtitle(r.Configuration, r.Simulated(), r.Played, seeds) + "; spot interruptions: " + r.rateText(),
		Figures: []report.Figure{
			{Label: "bill", Value: est("bill"), Note: money.Amount(hourly*24) + " a day, " + money.Amount(hourly*report.HoursPerMonth) + " a month"},
			{Label: "above the floor", Value: est("distance"), Note: "the floor is " + est("floor")},
			{Label: "pending, p99", Value: est("p99_pending"), Note: "half of the pods run within " + est("p50_pending")},
			{Label: "pods moved", Value: est("moved"), Note: est("lost") + " lost with their instance"},
			{Label: "refused", Value: est("refused"), Note: "pods without a node for " + r.refusedAfter(), Tone: toneOf(r.Totals.Refused == 0)},
		},
	}
	p.Sections = warnings(r.regionNote(), ofSpot(runs), r.settingsNote(""), r.Partial, standsFor(r.Simulated(), r.Played), belowFloor(runs), tooFew(runs))
	intro := ""
	if len(runs) > 1 {
		intro = "Lines are means over the seeds; bands reach from the least to the most."
	}
	p.Sections = append(p.Sections, report.Section{Title: "What it costs", Intro: intro, Blocks: []report.Block{
		report.Lines{Title: "Bill and floor, " + string(money) + " per hour", Format: money.PerHour, Scale: money.PerHourBy, Series: []report.Series{line("bill", report.Hue0, runs, sBill), dashed(line("floor", report.Hue1, runs, sFloor))}},
		report.Lines{Title: "Instances", Series: []report.Series{line("spot", report.Hue0, runs, sSpot), line("on demand", report.Hue2, runs, sDemand)}},
	}}, report.Section{Title: "What pods see", Blocks: []report.Block{
		report.Lines{Title: "Pods", Series: []report.Series{line("running", report.Hue0, runs, sRunning), line("pending", report.Hue3, runs, sPending)}},
		pendingBars("From created to running", runs),
	}}, report.Section{Title: "What was moved, interrupted, refused", Blocks: append(outcomes(runs), movedTable([]Configured{{Name: "pods", Results: runs}}))}, report.Section{Title: "All figures", Blocks: []report.Block{figures([]Configured{{Name: "value", Results: runs}}, nil)}})
	if len(runs) > 1 {
		p.Sections = append(p.Sections, report.Section{Title: "Seed by seed", Intro: drawnText(r.Drawn), Blocks: []report.Block{seedTable(runs)}})
	}
	p.Sections = append(p.Sections, about(r.Notes, r.Settings)...)
	return p
}

// warnings are what has to be known before any figure is read; empty texts are left out.
func warnings(texts ...string) []report.Section {
	var notes report.Notes
	for _, text := range texts {
		if text != "" {
			notes = append(notes, report.Note{Text: upper(text) + ".", Tone: report.Warn})
		}
	}
	if len(notes) == 0 {
		return nil
	}
	return []report.Section{{Blocks: []report.Block{notes}}}
}

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// seedTable are the figures of each seed by which one decides.
func seedTable(runs []*Result) report.Table {
	t := report.Table{Columns: []report.Column{{Title: "Seed", Number: true}}, Fold: seedsShown}
	var of []*Metric
	for _, name := range append([]string{"floor"}, decisive...) {
		m := runs[0].metric(name)
		of = append(of, m)
		t.Columns = append(t.Columns, report.Column{Title: m.Title, Number: true})
	}
	for _, r := range runs {
		row := report.Cells(fmt.Sprint(r.Seed))
		for _, m := range of {
			row = append(row, report.Cell{Text: m.one(&r.Totals)})
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// seedsShown is how many seeds a table has before it folds.
const seedsShown = 10

// one is the figure of one run.
func (m *Metric) one(t *Totals) string {
	v := m.Of(t)
	if math.IsNaN(v) {
		return "none"
	}
	return value(v, m.Unit)
}

func subtitle(configuration string, d time.Duration, played string, seeds []uint64) string {
	out := span(d) + ", " + seedsText(seeds)
	if played != "" {
		out = span(d) + " (" + played + "), " + seedsText(seeds)
	}
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
	moved := report.Table{Title: "Pods moved" + meansNote(runs), Columns: []report.Column{{Title: "Why"}, {Title: "Pods", Number: true}}, Empty: "No pod was moved."}
	refused, in := map[string]Refusal{}, ""
	if len(runs) > 1 {
		in = fmt.Sprintf(" in all %d seeds", len(runs))
	}
	interruptions, lost := 0, 0
	for _, r := range runs {
		for _, f := range r.Refused {
			f.Count += refused[f.Reason].Count
			refused[f.Reason] = f
		}
		interruptions, lost = interruptions+r.Totals.Interruptions, lost+r.Totals.Lost
	}
	for _, c := range countsOf(reasonsOf(runs)) {
		moved.Rows = append(moved.Rows, report.Cells(c.Reason, overSeeds(c.Count, runs)))
	}
	interrupted := "No spot instance was interrupted" + expected(runs) + "."
	if interruptions > 0 {
		interrupted = fmt.Sprintf("Spot instances that were interrupted%s: %d%s. Pods that ended with their instance: %d; the others on these instances were moved in the two minutes of notice.", in, interruptions, expected(runs), lost)
	}
	out := []report.Block{moved, report.Text(interrupted)}
	var notes report.Notes
	byCount := map[string]int{}
	for why, f := range refused {
		byCount[why] = f.Count
	}
	for _, c := range countsOf(byCount) {
		notes = append(notes, report.Note{Text: fmt.Sprintf("%s had no node%s, such as %s", many(c.Count, "pod"), in, refused[c.Reason].Example), Detail: c.Reason, Tone: report.Bad})
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
		m := Metrics[i].in(all[0].Results[0].money())
		row := report.Cells(m.Title)
		for k := range all {
			e := EstimateOf(all[k].values(m))
			row = append(row, report.Cell{Text: m.text(&e)})
			if c == nil || k == 0 {
				continue
			}
			d := c.difference(all[k].Name, m.Name)
			cell := report.Cell{Text: d.text(m)}
			if d.sure() != "" && !d.same() {
				cell.Detail = d.mayBeChance()
			}
			if d.Told && m.Better != 0 {
				cell.Tone = toneOf(d.Absolute.mean()*float64(m.Better) > 0)
			}
			row = append(row, cell)
		}
		t.Rows = append(t.Rows, row)
		if c != nil && m.Name == "bill" {
			t.Rows = append(t.Rows, c.monthRow(m))
		}
	}
	return t
}

// monthRow is what a month costs, with the differences.
func (c *Comparison) monthRow(bill *Metric) []report.Cell {
	row := report.Cells(monthTitle)
	for k := range c.Configurations {
		of := &c.Configurations[k]
		row = append(row, report.Cell{Text: bill.text(&of.Monthly)})
		if k > 0 {
			d := c.difference(of.Name, "bill")
			row = append(row, report.Cell{Text: cmp.Or(strings.TrimSuffix(d.month(bill), " a month"), d.text(bill))})
		}
	}
	return row
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
