package check

import (
	"fmt"
	"io"
	"strings"
)

// width of text lines; what is longer is broken between words.
const lineWidth = 118

// WriteText writes the report for people: by area, the worst first, each with what is wrong, why it matters and what
// fixes it.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s), cluster %s in %s, compared with the edition %s\n", r.Source, r.Kind, r.Cluster, r.Region, r.Edition)
	for _, n := range r.Notes {
		wrap(&b, "note: ", n)
	}
	area := Area("")
	for _, f := range r.Findings {
		if f.Area != area {
			area = f.Area
			fmt.Fprintf(&b, "\n%s\n", strings.ToUpper(string(area)))
		}
		wrap(&b, fmt.Sprintf("  %-9s  ", f.Severity), f.said())
		if f.Why != "" {
			wrap(&b, "       why:  ", f.Why)
		}
		if f.Fix != "" {
			f.writeFix(&b, "       fix:  ")
		}
	}
	if len(r.Unread) > 0 {
		b.WriteString("\nNOT JUDGED\n")
		for _, u := range r.Unread {
			wrap(&b, "  ", u.What+": "+u.Why)
		}
	}
	b.WriteString("\n" + r.Summary() + "\n")
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// WriteProblems writes what is wrong, in one line each with what fixes it, and nothing else: no advice.
func (r *Report) WriteProblems(w io.Writer) error {
	var b strings.Builder
	for _, f := range r.Findings {
		if f.Severity == Advice {
			continue
		}
		wrap(&b, fmt.Sprintf("%-9s  ", f.Severity), f.said())
		if f.Fix != "" {
			f.writeFix(&b, "     fix:  ")
		}
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// said is what is wrong, with the thing that it is about.
func (f *Finding) said() string {
	if strings.Contains(f.What, f.Thing) {
		return f.What
	}
	return f.Thing + ": " + f.What
}

// writeFix writes what fixes it. Lines for a shell are kept as they are, so that they can be pasted.
func (f *Finding) writeFix(b *strings.Builder, prefix string) {
	if !strings.Contains(f.Fix, "\n") {
		wrap(b, prefix, f.Fix)
		return
	}
	indent := strings.Repeat(" ", len(prefix))
	b.WriteString(prefix + strings.ReplaceAll(f.Fix, "\n", "\n"+indent) + "\n")
}

// Summary says in one line what was found.
func (r *Report) Summary() string {
	if len(r.Findings) == 0 && len(r.Unread) == 0 {
		return "nothing is wrong"
	}
	var parts []string
	for _, s := range []Severity{Missing, TooWide, Different, Advice} {
		if n := r.Count(s); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	if n := len(r.Unread); n > 0 {
		parts = append(parts, fmt.Sprintf("%d not judged", n))
	}
	text := strings.Join(parts, ", ")
	if !r.Wrong() {
		text = "nothing is wrong; " + text
	}
	return text
}

// wrap writes text under a first prefix, with what does not fit below its beginning. Words that are longer than a line,
// such as policies, are left whole.
func wrap(b *strings.Builder, prefix, text string) {
	indent := strings.Repeat(" ", len(prefix))
	b.WriteString(prefix)
	column := len(prefix)
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case column+1+len(word) > lineWidth:
			b.WriteString("\n" + indent)
			column = len(indent)
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	b.WriteByte('\n')
}
