package simulate

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"text/tabwriter"

	"github.com/kerf-sh/kerf/internal/simulate/workload"
)

// text writes an estimate of the figure with its unit. Where the interval would reach beyond what the figure can be, it is
// written from end to end.
func (m *Metric) text(e *Estimate) string {
	if e.N == 0 {
		return "none"
	}
	if e.Half == nil {
		return value(e.mean(), m.Unit)
	}
	low, high := e.mean()-*e.Half, e.mean()+*e.Half
	least, most := 0.0, math.Inf(1)
	switch m.Name {
	case "spot_share":
		most = 100
	case "distance":
		least = math.Inf(-1)
	}
	if low < least || high > most {
		return fmt.Sprintf("%s (%s to %s)", value(e.mean(), m.Unit), value(max(low, least), m.Unit), value(min(high, most), m.Unit))
	}
	return value(e.mean(), m.Unit) + " ± " + value(*e.Half, m.Unit)
}

// signed writes a difference.
func (e *Estimate) signed(unit string) string {
	sign := "+"
	if e.mean() < 0 {
		sign = "−"
	}
	out := sign + value(math.Abs(e.mean()), unit)
	if e.Half != nil {
		out += " ± " + value(*e.Half, unit)
	}
	return out
}

// same tells whether all seeds have the same value in both.
func (d *Difference) same() bool {
	return d.Absolute.N > 0 && d.Absolute.mean() == 0 && (d.Absolute.Half == nil || *d.Absolute.Half == 0)
}

// text says a difference: in percent where that is what one decides by, else how many times as much it is.
func (d *Difference) text(m *Metric) string {
	switch {
	case d.Absolute.N == 0:
		return "none"
	case d.same():
		return "the same"
	case d.shown() == d.Percent && d.Percent != nil:
		return d.Percent.signed("%")
	case m.Unit == "" && d.Times != nil:
		return fmt.Sprintf("%.2f × as many (%s)", *d.Times, d.Absolute.signed(""))
	case m.Unit == "%":
		return strings.ReplaceAll(d.Absolute.signed("%"), " %", "") + " points"
	}
	return d.Absolute.signed(m.Unit)
}

// withMonth is the text, and of the bill what that is in a month.
func (d *Difference) withMonth(m *Metric) string {
	if month := d.month(m); month != "" {
		return d.text(m) + ", " + month
	}
	return d.text(m)
}

// sure says how sure a difference is; empty: it is told from chance, or there is none.
func (d *Difference) sure() string {
	switch {
	case d.Absolute.N == 0 && d.Metric == "distance":
		return "the floor is 0 in one of them"
	case d.Absolute.N == 0:
		return "no pod began to run in one of them"
	case d.Told, d.same() && d.Absolute.N > 1:
		return ""
	case d.same():
		return "one seed only"
	case d.Absolute.N < 2:
		return "one seed can't tell it from chance"
	case d.Wanted > 0:
		return fmt.Sprintf("%s; about %d seeds would tell", d.mayBeChance(), d.Wanted)
	}
	return d.mayBeChance()
}

// mayBeChance is what is said of a difference that is not told from chance. Where its interval by itself is on one side of 0, it says why
// it is not told all the same.
func (d *Difference) mayBeChance() string {
	e := d.shown()
	switch {
	case e.Half == nil || math.Abs(e.mean()) <= *e.Half:
		return "may be chance"
	case d.P != nil && *d.P < 1-confidence:
		return "may be chance (judged with the others)"
	}
	return "may be chance (too few seeds for all to differ by the same)" // the sign test
}

// how says how the differences are judged.
func (c *Comparison) how() string {
	if c.Judged == 0 {
		return moreSeeds(c.Drawn)
	}
	return fmt.Sprintf("± is half of the 95 %% confidence interval, by Student's t. Differences are those of each seed with itself. "+
		"Of twenty figures that do not differ, one would seem to at 95 %%; so the %d differences by which one decides are judged together (Holm): "+
		"chance alone makes this report name any of them in at most one of twenty comparisons. All other figures are judged one by one.", c.Judged)
}

func (c *Comparison) write(b *bytes.Buffer) {
	fmt.Fprintf(b, "%s, %s, %s", c.Workload, span(c.Horizon()), seedsText(c.Seeds))
	if len(c.LeftOut) > 0 {
		fmt.Fprintf(b, "; left out, for not all have finished them: %s", seedsText(c.LeftOut))
	}
	b.WriteByte('\n')
	places, notes := c.places()
	writePlayed(b, c.first(), places, append(notes, c.spotNote(), c.Partial, standsFor(c.Horizon(), c.Played))...)
	if len(c.NotCompared) > 0 {
		fmt.Fprintf(b, "not compared: %s\n", strings.Join(c.NotCompared, ", "))
	}
	first := c.Configurations[0].Name
	for i := range c.Configurations[1:] {
		of := &c.Configurations[i+1]
		fmt.Fprintf(b, "\n%s against %s:\n", of.Name, first)
		if len(of.Changes) == 0 {
			fmt.Fprintf(b, "  compared: %s\n", of.changed())
		}
		for k, x := range of.Changes {
			if k == 3*changesShown && len(of.Changes) > k+1 {
				fmt.Fprintf(b, "  compared: and %d more changes (-o json has all)\n", len(of.Changes)-k)
				break
			}
			fmt.Fprintf(b, "  compared: %s\n", x.Text())
		}
		w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
		told, untold := c.deciding(of.Name)
		for _, d := range append(told, untold...) {
			m := c.first().metric(d.Metric)
			fmt.Fprintf(w, "  %s\t%s\t%s\n", m.Title, d.withMonth(m), d.sure())
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
		m := Metrics[i].in(c.first().money())
		fmt.Fprintf(w, "%s\t", m.Title)
		for k := range f.Of {
			fmt.Fprintf(w, "%s\t", m.text(&f.Of[k]))
		}
		fmt.Fprintln(w)
		if m.Name == "bill" {
			fmt.Fprintf(w, "%s\t", monthTitle)
			for k := range c.Configurations {
				fmt.Fprintf(w, "%s\t", m.text(&c.Configurations[k].Monthly))
			}
			fmt.Fprintln(w)
		}
	}
	_ = w.Flush()
	for i := range c.Configurations {
		writeMoved(b, c.Configurations[i].Name+" ", c.Configurations[i].Results)
	}
	for _, text := range []string{c.belowFloor(), c.tooFew()} {
		if text != "" {
			fmt.Fprintf(b, "\nNOTE: %s\n", text)
		}
	}
	how := c.how()
	if c.Judged > 0 {
		how = strings.TrimSpace(how + " " + drawnText(c.Drawn))
	}
	fmt.Fprintf(b, "\n%s\n", folded(how, textWidth))
	for _, of := range c.Configurations {
		if r := of.Results[0]; r.Totals.Refused > 0 {
			fmt.Fprintf(b, "\n%s refused %s, such as %s: %s\n", of.Name, many(r.Totals.Refused, "pod"), r.Refused[0].Example, r.Refused[0].Reason)
		}
	}
	writeNotes(b, c.notes())
}

// textWidth is where paragraphs are folded.
const textWidth = 118

// folded breaks a paragraph between words into lines.
func folded(text string, width int) string {
	var b strings.Builder
	column := 0
	for i, word := range strings.Fields(text) {
		if n := len([]rune(word)); i > 0 && column+1+n > width {
			b.WriteByte('\n')
			column = 0
		} else if i > 0 {
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += len([]rune(word))
	}
	return b.String()
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
