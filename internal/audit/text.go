package audit

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/report"
)

// money writes amounts in the currency of the price list.
type money struct{ report.Money }

func (r *Report) money() money {
	return money{report.Money(catalog.Currency(r.Prices.Currency).Symbol())}
}

func (m money) perHour(v float64) string { return m.PerHour(v) }

func (m money) perMonth(v float64) string { return m.Amount(v*report.HoursPerMonth) + " a month" }

// Names that the text lists of each part and risk, unless all are asked for.
const fewNames = 3

// Write writes the report for people. all lists all names that the report has.
func (r *Report) Write(w io.Writer, all bool) error {
	t := &textWriter{w: bufio.NewWriter(w), money: r.money(), most: fewNames}
	if all {
		t.most = mostObjects
	}
	t.head(r)
	if r.Floor.Known {
		t.parts("WHERE THE DIFFERENCE LIES", fmt.Sprintf("adds up to %s", t.money.perHour(r.Bill.PerHour-r.Floor.PerHour)), r.Difference)
		t.parts("WHAT PODS AND POOLS ASK FOR", "how much lower the floor would be; each on top of those before it", r.Asked)
		t.workloads(r)
		t.dearest(r)
		t.first(r)
	}
	t.untouched(r)
	t.risks(r)
	if r.Floor.Known {
		t.line("")
		t.folded("", simulated)
	}
	if len(r.Unknown) > 0 {
		t.line("\nNOT KNOWN")
		for _, u := range r.Unknown {
			t.line("  - " + u)
		}
	}
	return t.w.Flush()
}

// simulated says how a simulation of the same snapshot differs.
const simulated = "kerf simulate --snapshot plays the same pods over time and comes to other amounts: it begins without nodes, so that its bill is near Kerf's plan. " +
	"It places all pods on NodePools, pods that wait among them; it leaves out volumes and nodes that can't be replaced; and its spot prices change."

// WriteAnswer writes the report in one line.
func (r *Report) WriteAnswer(w io.Writer) error {
	m := r.money()
	caveat := cond(r.Caveat != "", " ("+r.Caveat+")", "")
	switch {
	case !r.Bill.Known && r.Floor.Why != "":
		_, err := fmt.Fprintf(w, "what it costs is not known: %s\n", r.Floor.Why)
		return err
	case !r.Floor.Known:
		_, err := fmt.Fprintf(w, "costs %s%s; the floor is not known: %s\n", m.perHour(r.Bill.PerHour), caveat, r.Floor.Why)
		return err
	}
	above := ""
	if p := r.Floor.Percent; p != nil {
		above = fmt.Sprintf(", %.0f %% above the floor", *p)
	}
	_, err := fmt.Fprintf(w, "costs %s, floor %s%s%s; %s\n", m.perHour(r.Bill.PerHour), m.perHour(r.Floor.PerHour), above, caveat, plural(len(r.Risks), "kind")+" of risk")
	return err
}

type textWriter struct {
	w     *bufio.Writer
	money money
	most  int
}

func (t *textWriter) line(text string) { fmt.Fprintln(t.w, text) }

func (t *textWriter) linef(format string, args ...any) { fmt.Fprintf(t.w, format+"\n", args...) }

// Title says in a few words what was audited.
func (c *Cluster) Title() string {
	text := plural(c.Nodes, "node") + " and " + plural(c.Pods, "pod") + " in " + c.Region
	if c.KubernetesVersion != "" {
		text += ", Kubernetes " + c.KubernetesVersion
	}
	if c.Name != "" {
		text = c.Name + ": " + text
	}
	if c.TakenAt.IsZero() {
		return text
	}
	return text + ", " + c.TakenAt.UTC().Format("2 January 2006 15:04 UTC") + cond(c.TimeOf != "", " (the time of "+c.TimeOf+")", "")
}

func (t *textWriter) head(r *Report) {
	c := &r.Cluster
	t.line("AUDIT of " + c.Title())
	t.linef("  nodes are launched by %s; %s of DaemonSets%s", c.Scaled, plural(c.Daemons, "pod"), cond(c.Anonymized, "; names are hashed", ""))
	prices := "  prices: " + r.Prices.Source + ": " + r.Prices.OnDemand + "; spot: " + r.Prices.Spot
	if r.Prices.Overrides > 0 {
		prices += fmt.Sprintf("; %s of a price file", plural(r.Prices.Overrides, "rule"))
	}
	t.line(prices)
	if r.Prices.Warning != "" {
		t.folded("  ", "NOTE: "+r.Prices.Warning)
	}
	t.line("")
	m := t.money
	switch {
	case !r.Bill.Known && r.Floor.Why != "":
		t.linef("  Costs          not known  (%s)", r.Floor.Why)
	default:
		t.line(strings.TrimRight(fmt.Sprintf("  Costs       %12s  %18s  %s", m.perHour(r.Bill.PerHour), m.perMonth(r.Bill.PerHour), r.Caveat), " "))
	}
	if !r.Floor.Known {
		t.linef("  Floor          not known  (%s)", r.Floor.Why)
	} else {
		t.linef("  Floor       %12s  %18s  the least that any nodes for these pods could cost, proved", m.perHour(r.Floor.PerHour), m.perMonth(r.Floor.PerHour))
		above := ""
		if p := r.Floor.Percent; p != nil {
			above = fmt.Sprintf(", %.0f %% above the floor", *p)
		}
		t.linef("  Difference  %12s  %18s  %.0f %% of the bill%s", m.perHour(r.Bill.PerHour-r.Floor.PerHour), m.perMonth(r.Bill.PerHour-r.Floor.PerHour), r.Floor.OfBill, above)
		t.linef("  Kerf's plan %12s  %18s  all pods on %s, were every node replaced at once", m.perHour(r.Floor.Plan), m.perMonth(r.Floor.Plan), plural(r.Floor.PlanNodes, "new node"))
	}
	for _, s := range []struct {
		title  string
		shares []Share
	}{{"by capacity type", r.Bill.CapacityTypes}, {"by pool and group", r.Bill.Groups}, {"by family", r.Bill.Families}} {
		if len(s.shares) == 0 {
			continue
		}
		var parts []string
		for i, x := range s.shares {
			if i == 2*t.most {
				parts = append(parts, fmt.Sprintf("and %d more", len(s.shares)-i))
				break
			}
			parts = append(parts, fmt.Sprintf("%s %s (%d)", x.Name, m.perHour(x.PerHour), x.Nodes))
		}
		t.linef("  %-18s %s", s.title, strings.Join(parts, " · "))
	}
}

func cond(on bool, yes, no string) string {
	if on {
		return yes
	}
	return no
}

func (t *textWriter) parts(title, note string, parts []Part) {
	if len(parts) == 0 {
		return
	}
	t.linef("\n%s (%s)", title, note)
	for _, p := range parts {
		t.linef("  %10s  %s", t.money.perHour(p.PerHour), p.Title)
		t.indented(p.Text)
		if p.Remedy != "" {
			t.indented("→ " + p.Remedy)
		}
		t.objects(p.Objects, p.Count)
	}
}

// textWidth is where paragraphs are folded.
const textWidth = 110

// indented writes a paragraph below an amount.
func (t *textWriter) indented(text string) { t.folded("              ", text) }

// folded writes a paragraph.
func (t *textWriter) folded(indent, text string) {
	line := indent
	for _, word := range strings.Fields(text) {
		if len(line)+1+len(word) > textWidth && line != indent {
			t.line(line)
			line = indent
		}
		if line != indent {
			line += " "
		}
		line += word
	}
	t.line(line)
}

func (t *textWriter) objects(objects []Object, count int) {
	for i, o := range objects {
		if i == t.most && count > t.most+1 {
			t.indented(fmt.Sprintf("and %d more", count-i))
			return
		}
		text := "              · " + o.Kind + " " + o.Name
		if o.PerHour > 0 {
			text += "  " + t.money.perHour(o.PerHour)
		}
		if o.Detail != "" {
			text += "  (" + o.Detail + ")"
		}
		t.line(text)
	}
	if count > len(objects) {
		t.indented(fmt.Sprintf("and %d more", count-len(objects)))
	}
}

func (t *textWriter) workloads(r *Report) {
	var shown []*Workload
	for i := range r.Workloads {
		if w := &r.Workloads[i]; w.UnusedPerHour != nil && *w.UnusedPerHour > 0 && len(shown) < 3*t.most {
			shown = append(shown, w)
		}
	}
	if len(shown) == 0 {
		return
	}
	t.line("\nWORKLOADS THAT ASK FOR MORE THAN THEY USE (their part of the bill)")
	t.linef("  %-44s %4s  %14s %16s  %10s %10s", "", "pods", "cores use/ask", "GiB use/ask", "costs", "unused")
	for _, w := range shown {
		t.linef("  %-44s %4d  %14s %16s  %10s %10s", w.Kind+" "+w.Name, w.Pods, fmt.Sprintf("%.2f/%.2f", *w.CPUUsed, w.CPU), fmt.Sprintf("%.1f/%.1f", *w.MemoryUsed, w.Memory),
			t.money.perHour(w.PerHour), t.money.perHour(*w.UnusedPerHour))
	}
}

// dearest lists the workloads that cost most, and what the bill is besides.
func (t *textWriter) dearest(r *Report) {
	if len(r.Workloads) == 0 {
		return
	}
	list := slices.Clone(r.Workloads)
	slices.SortStableFunc(list, func(x, y Workload) int { return cmp.Compare(y.PerHour, x.PerHour) })
	t.line("\nDEAREST WORKLOADS (their part of the bill, which these rows add up to)")
	others, rest := r.Rest.Others, r.Rest.OthersPerHour
	for i := range list {
		if i >= 2*t.most {
			others++
			rest += list[i].PerHour
			continue
		}
		t.linef("  %10s  %s %s  (%s)", t.money.perHour(list[i].PerHour), list[i].Kind, list[i].Name, plural(list[i].Pods, "pod"))
	}
	if others > 0 {
		t.linef("  %10s  %s", t.money.perHour(rest), plural(others, "other workload"))
	}
	t.linef("  %10s  room that nobody asks for", t.money.perHour(r.Rest.Room))
}

func (t *textWriter) first(r *Report) {
	if r.First == nil {
		return
	}
	t.linef("\nWHAT KERF WOULD DO FIRST (saves %s, %s)", t.money.perHour(r.First.PerHour), t.money.perMonth(r.First.PerHour))
	if r.First.Condition != "" {
		t.line("  " + r.First.Condition)
	}
	if len(r.First.Moves) == 0 {
		t.line("  Nothing: no move saves enough, or all are held.")
	}
	for i, m := range r.First.Moves {
		t.linef("  %2d. %10s  %s", i+1, t.money.perHour(m.PerHour), m.Text)
	}
	if r.First.More > 0 {
		t.linef("      and %d more", r.First.More)
	}
	if r.First.NotLookedAt > 0 {
		t.linef("      %s were not looked at before the search ended", plural(r.First.NotLookedAt, "node"))
	}
	if r.First.Rest != "" {
		t.folded("  ", r.First.Rest)
	}
}

func (t *textWriter) untouched(r *Report) {
	if len(r.Untouched) == 0 {
		return
	}
	t.line("\nWHAT IT WOULD NOT TOUCH")
	for _, u := range r.Untouched {
		names := u.Nodes[:min(len(u.Nodes), t.most)]
		more := ""
		if u.Count > len(names) {
			more = fmt.Sprintf(" and %d more", u.Count-len(names))
		}
		t.linef("  %10s  %s: %s", t.money.perHour(u.PerHour), plural(u.Count, "node"), u.Reason)
		t.linef("              · %s%s", strings.Join(names, ", "), more)
	}
}

func (t *textWriter) risks(r *Report) {
	t.line("\nRISKS")
	switch {
	case r.RisksUnknown != "":
		t.linef("  not known%s: %s", cond(len(r.Risks) > 0, " but for these", ""), r.RisksUnknown)
	case len(r.Risks) > 0:
	default:
		t.line("  none was found")
	}
	for _, x := range r.Risks {
		t.linef("  %-4s  %s (%d)", x.Level, x.Title, x.Count)
		t.indented(x.Text)
		if x.Remedy != "" {
			t.indented("→ " + x.Remedy)
		}
		t.objects(x.Objects, x.Count)
	}
}
