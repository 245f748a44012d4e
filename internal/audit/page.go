package audit

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/kerf-sh/kerf/internal/report"
)

// WritePage writes the report as one HTML page, pictures first.
func (r *Report) WritePage(w io.Writer) error {
	m := r.money()
	p := report.Page{Title: "Audit of " + cmp.Or(r.Cluster.Name, "a cluster"), Subtitle: r.Cluster.Title(), Figures: r.figures(m)}
	if r.Prices.Warning != "" {
		p.Sections = append(p.Sections, report.Section{Title: "Old spot prices", Blocks: []report.Block{report.Notes{{Text: r.Prices.Warning, Detail: "They are " + r.Prices.Spot + ".", Tone: report.Warn}}}})
	}
	if r.Floor.Known {
		p.Sections = append(p.Sections, r.billSection(m), r.differenceSection(m), r.askedSection(m))
	} else {
		p.Sections = append(p.Sections, r.costSection(m))
	}
	p.Sections = append(p.Sections, r.firstSection(m), r.risksSection(), r.detailSection(m), r.unknownSection())
	kept := p.Sections[:0]
	for _, s := range p.Sections {
		if len(s.Blocks) > 0 {
			kept = append(kept, s)
		}
	}
	p.Sections = kept
	prices := "Prices: " + r.Prices.Source + ": " + r.Prices.OnDemand + "; spot: " + r.Prices.Spot + "."
	p.Footer = []string{"Made by kerf audit, which reads a cluster and changes nothing in it.", prices, fmt.Sprintf("A month is %d hours. ", report.HoursPerMonth) + "Names of objects are those of the cluster" + cond(r.Cluster.Anonymized, ", hashed.", ".")}
	if r.Floor.Known {
		p.Footer = append(p.Footer, simulated)
	}
	return p.Write(w)
}

func (r *Report) figures(m money) []report.Figure {
	out := []report.Figure{{Label: "The cluster costs", Value: m.perHour(r.Bill.PerHour), Note: m.perMonth(r.Bill.PerHour)}}
	switch {
	case !r.Bill.Known && r.Floor.Why != "":
		out[0].Value, out[0].Note, out[0].Tone = "not known", r.Floor.Why, report.Warn
	case r.Caveat != "":
		out[0].Note, out[0].Tone = out[0].Note+", "+r.Caveat, report.Warn
	}
	if !r.Floor.Known {
		out = append(out, report.Figure{Label: "Provable floor for its pods", Value: "not known", Note: r.Floor.Why, Tone: report.Warn})
	}
	if r.Floor.Known {
		above := r.Bill.PerHour - r.Floor.PerHour
		out = append(out,
			report.Figure{Label: "Provable floor for its pods", Value: m.perHour(r.Floor.PerHour), Note: m.perMonth(r.Floor.PerHour) + cond(r.Caveat != "", fmt.Sprintf(", for %d of %s", r.Floor.Pods, plural(r.Floor.AllPods, "pod")), "")},
			report.Figure{Label: "Difference", Value: m.perHour(above), Note: fmt.Sprintf("%s, %.0f %% of the bill", m.perMonth(above), r.Floor.OfBill), Tone: toneOf(r.Floor.OfBill)})
		if r.First != nil {
			out = append(out, report.Figure{Label: "Kerf would save first", Value: m.perHour(r.First.PerHour), Note: m.perMonth(r.First.PerHour), Tone: report.Good})
		}
	}
	high := 0
	for _, x := range r.Risks {
		if x.Level == High {
			high++
		}
	}
	f := report.Figure{Label: "Kinds of risk", Value: fmt.Sprint(len(r.Risks)), Note: fmt.Sprintf("%d of them high", high)}
	if high > 0 {
		f.Tone = report.Bad
	}
	if r.RisksUnknown != "" {
		f.Value, f.Note, f.Tone = "not known", r.RisksUnknown, report.Warn
	}
	return append(out, f)
}

// toneOf judges how far a bill is above its floor: below a tenth is what a well kept cluster has.
func toneOf(percent float64) report.Tone {
	switch {
	case percent < 10:
		return report.Good
	case percent < 30:
		return report.Warn
	}
	return report.Bad
}

// billSection is the bill against the floor.
func (r *Report) billSection(m money) report.Section {
	spot, demand, other := 0.0, 0.0, 0.0
	for _, s := range r.Bill.CapacityTypes {
		switch s.Name {
		case "spot":
			spot += s.PerHour
		case "on-demand":
			demand += s.PerHour
		default:
			other += s.PerHour
		}
	}
	bars := report.Bars{Segments: []report.Segment{{Name: "on-demand", Hue: report.Hue1}, {Name: "spot", Hue: report.Hue0}}}
	now := []float64{demand, spot}
	if other > 0 {
		bars.Segments = append(bars.Segments, report.Segment{Name: "reserved", Hue: report.Hue2})
		now = append(now, other)
	}
	bars.Segments = append(bars.Segments, report.Segment{Name: "computed", Hue: report.Rest})
	computed := func(v float64) []float64 { return append(make([]float64, len(now)), v) }
	bars.Rows = []report.Bar{
		{Label: "Bill now", Detail: plural(r.Cluster.Nodes, "node"), Value: m.perMonth(r.Bill.PerHour), Parts: now, Mark: r.Floor.PerHour},
		{Label: "Kerf's plan", Detail: "the same pods on " + plural(r.Floor.PlanNodes, "new node") + ", were every node replaced at once", Value: m.perMonth(r.Floor.Plan), Parts: computed(r.Floor.Plan), Mark: r.Floor.PerHour},
		{Label: "Provable floor", Detail: "no nodes for these pods can cost less", Value: m.perMonth(r.Floor.PerHour), Parts: computed(r.Floor.PerHour), Mark: r.Floor.PerHour},
	}
	return report.Section{Title: "The bill against the floor", Intro: "The line marks the floor: the least that any nodes for the same pods could cost, with what the pods ask for now. It is proved, not guessed.", Blocks: []report.Block{bars}}
}

func (r *Report) costSection(m money) report.Section {
	if !r.Bill.Known {
		return report.Section{Title: "What the cluster costs", Blocks: []report.Block{report.Text("Not known: " + r.Floor.Why + ".")}}
	}
	return report.Section{Title: "What the cluster costs", Blocks: []report.Block{sharesTable("", r.Bill.Groups, r.Bill.PerHour, m)}}
}

// partBars are parts as bars on the scale of what they are parts of.
func partBars(parts []Part, whole float64, m money) report.Bars {
	out := report.Bars{Max: whole}
	for _, p := range parts {
		out.Rows = append(out.Rows, report.Bar{Label: p.Title, Detail: p.Text, Value: m.perMonth(p.PerHour), Parts: []float64{p.PerHour}})
	}
	return out
}

func (r *Report) differenceSection(m money) report.Section {
	if len(r.Difference) == 0 {
		return report.Section{Title: "Where the difference lies", Blocks: []report.Block{report.Text("There is none: the bill is at its floor.")}}
	}
	return report.Section{
		Title: "Where the difference lies", Intro: fmt.Sprintf("The parts add up to the difference of %s between bill and floor: a full bar would be all of it. Pods keep what they ask for.", m.perMonth(r.Bill.PerHour-r.Floor.PerHour)),
		Blocks: []report.Block{partBars(r.Difference, r.Bill.PerHour-r.Floor.PerHour, m)},
	}
}

func (r *Report) askedSection(m money) report.Section {
	if len(r.Asked) == 0 {
		return report.Section{}
	}
	return report.Section{
		Title: "What pods and pools ask for", Intro: "How much lower the floor would be if they asked for less. Each counts on top of the larger ones, so that they add up; a full bar would be the whole floor.",
		Blocks: []report.Block{partBars(r.Asked, r.Floor.PerHour, m)},
	}
}

func (r *Report) firstSection(m money) report.Section {
	s := report.Section{Title: "What Kerf would do first"}
	if r.First != nil {
		s.Intro = fmt.Sprintf("In this order. Together they save %s, %s. ", m.perHour(r.First.PerHour), m.perMonth(r.First.PerHour)) + r.First.Condition
		t := report.Table{Columns: []report.Column{{Title: "Move"}, {Title: "Pods that move", Number: true}, {Title: "Saves", Number: true}}, Empty: "Nothing: no move saves enough, or all are held."}
		for i, x := range r.First.Moves {
			names := strings.Join(x.Nodes[:min(len(x.Nodes), 5)], ", ")
			if len(x.Nodes) > 5 {
				names += fmt.Sprintf(" and %d more", len(x.Nodes)-5)
			}
			if len(x.Nodes) == 1 {
				names = ""
			}
			t.Rows = append(t.Rows, []report.Cell{{Text: fmt.Sprintf("%d. %s", i+1, x.Text), Detail: names}, {Text: fmt.Sprint(x.Pods)}, {Text: m.perHour(x.PerHour)}})
		}
		s.Blocks = append(s.Blocks, t)
		if r.First.More > 0 {
			s.Blocks = append(s.Blocks, report.Text(fmt.Sprintf("and %d more moves.", r.First.More)))
		}
		if r.First.Rest != "" {
			s.Blocks = append(s.Blocks, report.Text(r.First.Rest))
		}
	}
	if len(r.Untouched) > 0 {
		t := report.Table{Title: "What it would not touch", Columns: []report.Column{{Title: "Why"}, {Title: "Nodes", Number: true}, {Title: "They cost", Number: true}}}
		for _, u := range r.Untouched {
			names := strings.Join(u.Nodes[:min(len(u.Nodes), 8)], ", ")
			if u.Count > 8 {
				names += fmt.Sprintf(" and %d more", u.Count-8)
			}
			t.Rows = append(t.Rows, []report.Cell{{Text: upper(u.Reason), Detail: names}, {Text: fmt.Sprint(u.Count)}, {Text: m.perHour(u.PerHour)}})
		}
		s.Blocks = append(s.Blocks, t)
	}
	return s
}

// upper writes a clause as a sentence of its own.
func upper(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

func (r *Report) risksSection() report.Section {
	s := report.Section{Title: "Risks"}
	var notes report.Notes
	for _, x := range r.Risks {
		tone := report.Warn
		if x.Level == High {
			tone = report.Bad
		}
		level := upper(string(x.Level))
		var names []string
		for i, o := range x.Objects {
			if i == 8 {
				break
			}
			name := o.Name
			if o.Detail != "" {
				name += " (" + o.Detail + ")"
			}
			names = append(names, name)
		}
		detail := x.Text
		if len(names) > 0 {
			detail += " — " + strings.Join(names, ", ")
		}
		if more := x.Count - len(names); more > 0 {
			detail += fmt.Sprintf(" and %d more", more)
		}
		remedy := ""
		if x.Remedy != "" {
			remedy = "What to do: " + x.Remedy
		}
		notes = append(notes, report.Note{Text: level + ": " + x.Title, Detail: detail, Advice: remedy, Value: fmt.Sprint(x.Count), Tone: tone})
	}
	if r.RisksUnknown != "" {
		notes = append(notes, report.Note{Text: cond(len(notes) > 0, "All other risks are not known: ", "Not known: ") + r.RisksUnknown + ".", Tone: report.Warn})
	}
	if notes == nil {
		notes = report.Notes{{Text: "None was found.", Tone: report.Good}}
	}
	s.Blocks = []report.Block{notes}
	return s
}

// detailSection is the tables: what each part is about, the workloads, the bill by pool and family.
func (r *Report) detailSection(m money) report.Section {
	s := report.Section{Title: "In detail"}
	for _, p := range append(append([]Part{}, r.Difference...), r.Asked...) {
		if len(p.Objects) == 0 {
			continue
		}
		t := report.Table{Title: p.Title + ", " + m.perHour(p.PerHour), Columns: []report.Column{{Title: "Object"}, {Title: "Amount", Number: true}}, Fold: 5}
		for _, o := range p.Objects {
			amount := ""
			if o.PerHour > 0 {
				amount = m.perHour(o.PerHour)
			}
			t.Rows = append(t.Rows, []report.Cell{{Text: o.Kind + " " + o.Name, Detail: o.Detail}, {Text: amount}})
		}
		s.Blocks = append(s.Blocks, t)
		if p.Count > len(p.Objects) {
			s.Blocks = append(s.Blocks, report.Text(fmt.Sprintf("and %d more.", p.Count-len(p.Objects))))
		}
		if p.Remedy != "" {
			s.Blocks = append(s.Blocks, report.Text("What to do: "+p.Remedy))
		}
	}
	if len(r.Workloads) > 0 {
		s.Blocks = append(s.Blocks, r.workloadTable(m))
	}
	if r.Floor.Known {
		s.Blocks = append(s.Blocks, sharesTable("The bill by pool and node group", r.Bill.Groups, r.Bill.PerHour, m))
	}
	s.Blocks = append(s.Blocks, sharesTable("The bill by instance family", r.Bill.Families, r.Bill.PerHour, m), sharesTable("The bill by capacity type", r.Bill.CapacityTypes, r.Bill.PerHour, m))
	if len(r.Floor.Assumed) > 0 {
		t := report.Table{Title: "What was assumed for nodes that no NodePool governs", Columns: []report.Column{{Title: "Nodes of"}, {Title: "Could be"}, {Title: "Nodes", Number: true}}}
		for _, a := range r.Floor.Assumed {
			could := "categories " + strings.Join(a.Categories, ", ") + "; " + strings.Join(a.Architectures, ", ") + "; " + strings.Join(a.CapacityTypes, ", ") + fmt.Sprintf("; up to %d vCPUs", a.MostCPU)
			t.Rows = append(t.Rows, []report.Cell{{Text: strings.Join(a.Groups, ", "), Detail: strings.Join(a.Taints, ", ")}, {Text: could, Detail: strings.Join(a.Zones, ", ")}, {Text: fmt.Sprint(a.Nodes)}})
		}
		s.Blocks = append(s.Blocks, t)
	}
	return s
}

func (r *Report) workloadTable(m money) report.Table {
	t := report.Table{Title: "Workloads: what they ask for, use and cost; all rows add up to the bill", Columns: []report.Column{{Title: "Workload"}, {Title: "Cores asked", Number: true}, {Title: "used", Number: true}, {Title: "GiB asked", Number: true}, {Title: "used", Number: true}, {Title: "Costs", Number: true}, {Title: "Unused", Number: true}}, Fold: 15}
	used := func(v *float64, format string) string {
		if v == nil {
			return "not known"
		}
		return fmt.Sprintf(format, *v)
	}
	for i := range r.Workloads {
		w := &r.Workloads[i]
		unused := ""
		if w.UnusedPerHour != nil && *w.UnusedPerHour > 0 {
			unused = m.perHour(*w.UnusedPerHour)
		}
		t.Rows = append(t.Rows, []report.Cell{
			{Text: w.Kind + " " + w.Name, Detail: plural(w.Pods, "pod")}, {Text: fmt.Sprintf("%.2f", w.CPU)}, {Text: used(w.CPUUsed, "%.2f")},
			{Text: fmt.Sprintf("%.1f", w.Memory)}, {Text: used(w.MemoryUsed, "%.1f")}, {Text: m.perHour(w.PerHour)}, {Text: unused},
		})
	}
	if r.Rest.Others > 0 {
		t.Rows = append(t.Rows, report.Cells(plural(r.Rest.Others, "other workload"), "", "", "", "", m.perHour(r.Rest.OthersPerHour), ""))
	}
	t.Rows = append(t.Rows, report.Cells("Room that nobody asks for", "", "", "", "", m.perHour(r.Rest.Room), ""))
	return t
}

func sharesTable(title string, shares []Share, all float64, m money) report.Table {
	t := report.Table{Title: title, Columns: []report.Column{{Title: "Name"}, {Title: "Nodes", Number: true}, {Title: "Costs", Number: true}, {Title: "A month", Number: true}, {Title: "Of the bill", Number: true}}, Fold: 10, Empty: "No node has a known price."}
	for _, s := range shares {
		part := 0.0
		if all > 0 {
			part = s.PerHour / all
		}
		t.Rows = append(t.Rows, report.Cells(s.Name, fmt.Sprint(s.Nodes), m.perHour(s.PerHour), m.Amount(s.PerHour*report.HoursPerMonth), report.Percent(part)))
	}
	return t
}

func (r *Report) unknownSection() report.Section {
	if len(r.Unknown) == 0 {
		return report.Section{}
	}
	var notes report.Notes
	for _, u := range r.Unknown {
		notes = append(notes, report.Note{Text: u})
	}
	return report.Section{Title: "What could not be known", Blocks: []report.Block{notes}}
}
