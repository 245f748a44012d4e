package migrate

import (
	"fmt"
	"io"
	"strings"

	"github.com/kerf-sh/kerf/internal/engine/plan"
)

// headings stand before the findings of a severity.
var headings = []struct {
	severity Severity
	text     string
}{
	{Blocks, "Blocks the swap"},
	{Unknown, "Not known"},
	{Differs, "Differs"},
	{Fine, "Fine"},
}

// Answer is the report in a line.
func (r *Report) Answer() string {
	switch n := r.Count(Blocks); {
	case r.Controller == "":
		return "No controller was found: there is nothing to swap."
	case n > 0 && r.KarpenterLeads:
		return "The swap did not finish: Karpenter leads. " + plan.Count(n, "thing") + " to fix."
	case r.KarpenterLeads:
		return "The swap is under way: Karpenter leads until a pod of Kerf is ready."
	case n > 0 && r.Kerf:
		return "Runs Kerf already; " + plan.Count(n, "thing") + " to fix."
	case r.Kerf:
		return "Runs Kerf already: there is nothing to swap."
	case n > 0:
		return plan.Count(n, "thing") + " to fix first."
	case len(r.Unseen) > 0:
		return "Ready to swap, as far as the cluster tells: the AWS side was not checked."
	case r.Count(Unknown) > 0:
		return "Ready to swap, as far as could be judged: " + plan.Count(r.Count(Unknown), "thing") + " could not."
	}
	return "Ready to swap."
}

// Write writes the report for people: the answer first, then what blocks the swap, and each with its way out. What is fine is
// counted, and listed with all.
func (r *Report) Write(out io.Writer, all bool) error {
	b := &strings.Builder{}
	fmt.Fprintln(b, r.Answer())
	var facts []string
	version := "version"
	if r.KarpenterLeads {
		version = "which is to run"
	}
	for _, f := range []struct{ name, value string }{
		{"cluster", r.Cluster}, {"Kubernetes", r.Kubernetes}, {"controller", r.Controller}, {version, r.Karpenter}, {"Helm release", r.Release},
	} {
		if f.value != "" {
			facts = append(facts, f.name+" "+f.value)
		}
	}
	if len(facts) > 0 {
		fmt.Fprintln(b, strings.Join(facts, ", "))
	}
	for _, h := range headings {
		n := r.Count(h.severity)
		switch {
		case n == 0:
			continue
		case h.severity == Fine && !all:
			fmt.Fprintf(b, "\n%s: %d (--verbose lists them)\n", h.text, n)
			continue
		}
		fmt.Fprintf(b, "\n%s: %d\n", h.text, n)
		for i := range r.Findings {
			if f := &r.Findings[i]; f.Severity == h.severity {
				f.write(b)
			}
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// WriteProblems writes what blocks the swap and what could not be judged, and nothing else.
func (r *Report) WriteProblems(out io.Writer) error {
	b := &strings.Builder{}
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Severity == Blocks || f.Severity == Unknown {
			f.write(b)
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}

func (f *Finding) write(b *strings.Builder) {
	fmt.Fprintf(b, "\n  %s: %s\n", f.Object, f.Text)
	for _, e := range f.Evidence {
		fmt.Fprintf(b, "    - %s\n", e)
	}
	if f.Why != "" {
		fmt.Fprintf(b, "    why: %s\n", f.Why)
	}
	for _, c := range f.Fix {
		fmt.Fprintf(b, "    %s\n", c)
	}
}
