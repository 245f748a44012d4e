package simulate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/report"
)

// page is the page of a comparison: what one decides by first, then the lines of all in one picture, then all figures.
func (c *Comparison) page() report.Page {
	all, money := c.Configurations, c.first().money()
	p := report.Page{Title: "Comparison of " + many(len(all), "configuration"), Subtitle: c.Workload + ", " + subtitle("", c.Horizon(), c.Played, c.Seeds) + "; spot interruptions: " + c.first().rateText()}
	for i := range all[1:] {
		p.Figures = append(p.Figures, c.headline(&all[i+1]))
	}
	_, notes := c.places()
	p.Sections = append(warnings(append(notes, c.spotNote(), c.Partial, standsFor(c.Horizon(), c.Played), c.belowFloor(), c.tooFew())...),
		report.Section{Title: "What was compared", Intro: "Each configuration beside " + all[0].Name + ", as both are simulated. What is the same in both is left out.", Blocks: c.changes()},
		report.Section{Title: "What to decide by", Intro: c.how(), Blocks: append(c.decisions(), c.bars()...)},
		report.Section{Title: "Over time", Intro: c.overTime(), Blocks: []report.Block{
			c.lines("Bill, "+string(money)+" per hour", money.PerHour, money.PerHourBy, sBill), c.lines("Instances", nil, nil, sNodes), c.lines("Pods pending", nil, nil, sPending),
		}},
		report.Section{Title: "All figures", Intro: countedTwice, Blocks: []report.Block{figures(all, c), movedTable(all)}},
		report.Section{Title: "Seed by seed", Intro: strings.TrimSpace("Compare a row with the row of the same seed. " + drawnText(c.Drawn)), Blocks: c.seedTables()},
	)
	for i := range all {
		p.Sections = append(p.Sections, report.Section{Title: all[i].Name, Blocks: append([]report.Block{pendingBars("From created to running", all[i].Results)}, outcomes(all[i].Results)...)})
		for _, s := range about(nil, all[i].Results[0].Settings) {
			s.Title = all[i].Name + ": " + s.Title
			p.Sections = append(p.Sections, s)
		}
	}
	p.Sections = append(p.Sections, about(c.notes(), nil)...)
	return p
}

// countedTwice explains why pods differ of one workload.
const countedTwice = "All play the same workload. A pod that is moved or lost comes back as a new pod and counts again, in pods that ran and in pending times. Each floor is of the configuration's own NodePools."

// headline is the bill in large type, below it all differences that are told from chance in the order of their weight, then the others.
func (c *Comparison) headline(of *Configured) report.Figure {
	bill := c.first().metric("bill")
	d := c.difference(of.Name, "bill")
	f := report.Figure{Label: of.Name + " against " + c.Configurations[0].Name + ": bill", Value: d.text(bill)}
	if month := d.month(bill); month != "" {
		f.Note = month + ". "
	}
	told, untold := c.deciding(of.Name)
	var different, other []string
	for _, d := range told {
		m := c.first().metric(d.Metric)
		if d.Metric == "bill" {
			f.Tone = toneOf(d.Absolute.mean() <= 0)
			continue
		}
		different = append(different, m.Title+": "+d.text(m))
	}
	for _, d := range untold {
		m := c.first().metric(d.Metric)
		switch {
		case d.same():
		case d.Metric == "bill":
			f.Note += "The bill " + d.sure() + ". "
		default:
			other = append(other, m.Title)
		}
	}
	if strings.HasPrefix(d.sure(), "one seed") {
		f.Note = strings.TrimSuffix(f.Note, "The bill "+d.sure()+". ") + "One seed can't tell any difference from chance."
		return f
	}
	if len(different) > 0 {
		f.Note += "Different: " + strings.Join(different, "; ") + ". "
	} else if len(told) == 0 {
		f.Note += "No difference is told from chance. "
	}
	if len(other) > 0 {
		f.Note += "May be chance: " + strings.Join(other, "; ") + "."
	}
	return f
}

// changes are tables of what was compared.
func (c *Comparison) changes() []report.Block {
	var out []report.Block
	for i := range c.Configurations[1:] {
		of := &c.Configurations[i+1]
		if len(of.Changes) == 0 {
			out = append(out, report.Notes{{Text: of.Name + ": " + of.changed() + ".", Tone: report.Warn}})
			continue
		}
		t := report.Table{Title: of.Name, Columns: []report.Column{{Title: "Object"}, {Title: "Field"}, {Title: c.Configurations[0].Name}, {Title: of.Name}}, Fold: 12}
		for _, x := range of.Changes {
			old, now := x.Old, x.New
			switch {
			case x.Field == "" && old == "":
				old = "not there"
			case x.Field == "":
				now = "not there"
			default:
				old, now = orNotSet(old), orNotSet(now)
			}
			t.Rows = append(t.Rows, report.Cells(x.Object, x.Field, old, now))
		}
		out = append(out, t)
	}
	return out
}

// decisions are the figures that decide, with those that are told from chance first.
func (c *Comparison) decisions() []report.Block {
	var out []report.Block
	for i := range c.Configurations[1:] {
		of := &c.Configurations[i+1]
		t := report.Table{Title: of.Name + " against " + c.Configurations[0].Name, Columns: []report.Column{{Title: "Figure"}, {Title: "Difference", Number: true}, {Title: ""}}}
		told, untold := c.deciding(of.Name)
		for _, d := range append(told, untold...) {
			m := c.first().metric(d.Metric)
			cell := report.Cell{Text: d.text(m), Detail: d.month(m)}
			if d.Told {
				cell.Tone = toneOf(d.Absolute.mean()*float64(m.Better) > 0)
			}
			t.Rows = append(t.Rows, []report.Cell{{Text: upper(m.Title)}, cell, {Text: d.sure()}})
		}
		out = append(out, t)
	}
	return out
}

// bars are the figures that decide, of each configuration beside the others.
func (c *Comparison) bars() []report.Block {
	bill, floor := c.figure("bill"), c.figure("floor")
	costs := report.Bars{Title: "Bill; the mark is the floor"}
	for i := range c.Configurations {
		costs.Rows = append(costs.Rows, report.Bar{Label: c.Configurations[i].Name, Value: c.first().metric("bill").text(&bill[i]), Parts: []float64{bill[i].mean()}, Mark: floor[i].mean(), Hue: hueOf(i)})
	}
	out := []report.Block{costs}
	for _, name := range []string{"p99_pending", "p50_pending", "moved", "disrupted"} {
		m := c.first().metric(name)
		bars := report.Bars{Title: upper(m.Title)}
		for i, e := range c.figure(name) {
			bars.Rows = append(bars.Rows, report.Bar{Label: c.Configurations[i].Name, Value: m.text(&e), Parts: []float64{e.mean()}, Hue: hueOf(i)})
		}
		out = append(out, bars)
	}
	return out
}

// hueOf is the colour of a configuration in all charts.
func hueOf(configuration int) report.Hue { return report.Hue(configuration % report.Hues) }

// figure is a figure of all configurations.
func (c *Comparison) figure(name string) []Estimate {
	for _, f := range c.Figures {
		if f.Metric == name {
			return f.Of
		}
	}
	return nil
}

func (c *Comparison) overTime() string {
	if len(c.Seeds) < 2 {
		return ""
	}
	return "Lines are means over the seeds; bands reach from the least to the most."
}

// lines are one value of all configurations over time.
func (c *Comparison) lines(title string, format func(float64) string, scale func(v, step float64) string, of func(*Sample) float64) report.Lines {
	out := report.Lines{Title: title, Format: format, Scale: scale}
	for i := range c.Configurations {
		out.Series = append(out.Series, line(c.Configurations[i].Name, hueOf(i), c.Configurations[i].Results, of))
	}
	if scale != nil {
		out.Series = append(out.Series, dashed(line("floor of "+c.Configurations[0].Name+", for its NodePools", report.Rest, c.Configurations[0].Results, sFloor)))
	}
	return out
}

// seedTables are the figures that decide, each with a row for each seed.
func (c *Comparison) seedTables() []report.Block {
	var out []report.Block
	for _, name := range decisive {
		m := c.first().metric(name)
		if slices.Contains(failing, name) && !c.some(name) {
			continue
		}
		t := report.Table{Title: upper(m.Title), Columns: []report.Column{{Title: "Seed", Number: true}}, Fold: seedsShown}
		for i := range c.Configurations {
			t.Columns = append(t.Columns, report.Column{Title: c.Configurations[i].Name, Number: true})
		}
		for k, seed := range c.Seeds {
			row := report.Cells(fmt.Sprint(seed))
			for i := range c.Configurations {
				row = append(row, report.Cell{Text: m.one(&c.Configurations[i].Results[k].Totals)})
			}
			t.Rows = append(t.Rows, row)
		}
		out = append(out, t)
	}
	return out
}
