package doctor

import (
	"fmt"
	"io"
	"strings"
)

// order is that of the text: what is wrong first.
var order = []Status{Failed, Warning, Unknown, Skipped, OK}

// marks stand before each line, so that a status is seen without colour.
var marks = map[Status]string{Failed: "FAILED ", Warning: "WARNING", Unknown: "UNKNOWN", Skipped: "SKIPPED", OK: "OK     "}

// Write writes the report for a terminal: failures first, each with what shows it and what fixes it. What is well, what
// does not concern this set-up and all evidence for it is left out unless verbose, but for a proof that was asked for.
func (r *Report) Write(w io.Writer, verbose bool) error {
	b := &strings.Builder{}
	fmt.Fprintf(b, "cluster %s", r.Cluster)
	for _, part := range []struct{ name, value string }{{"account", r.Account}, {"region", r.Region}, {"queue", r.Queue}} {
		if part.value != "" {
			fmt.Fprintf(b, ", %s %s", part.name, part.value)
		}
	}
	b.WriteString("\n\n")
	for _, status := range order {
		said := map[string]bool{}
		for i := range r.Results {
			res := &r.Results[i]
			if res.Status != status || said[res.Finding] || !verbose && !res.asked && (status == OK || status == Skipped) {
				continue
			}
			if same := r.sameUnknown(res); status == Unknown && len(same) > 1 {
				said[res.Finding] = true
				fmt.Fprintf(b, "%s %d checks: %s\n           - %s\n\n", marks[status], len(same), res.Finding, strings.Join(same, ", "))
				continue
			}
			res.write(b, verbose)
		}
	}
	var parts []string
	for _, s := range order {
		if n := r.Count(s); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	fmt.Fprintf(b, "%d checks: %s\n", len(r.Results), strings.Join(parts, ", "))
	if !verbose && r.Count(OK)+r.Count(Skipped) > 0 {
		b.WriteString("(--verbose shows those that are ok or skipped as well)\n")
	}
	for _, n := range r.Notes {
		fmt.Fprintf(b, "note: %s\n", n)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteProblems writes what failed and what is to be warned of, and nothing else.
func (r *Report) WriteProblems(w io.Writer) error {
	b := &strings.Builder{}
	for _, status := range []Status{Failed, Warning} {
		for i := range r.Results {
			if r.Results[i].Status == status {
				r.Results[i].write(b, false)
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// sameUnknown are the checks that could not be made for the same reason as one: it is said once.
func (r *Report) sameUnknown(as *Result) []string {
	var out []string
	for _, o := range r.Results {
		if o.Status == Unknown && o.Finding == as.Finding {
			out = append(out, fmt.Sprintf("%d %s", o.Number, o.ID))
		}
	}
	return out
}

func (r *Result) write(b *strings.Builder, verbose bool) {
	fmt.Fprintf(b, "%s %2d %s: %s\n", marks[r.Status], r.Number, r.ID, r.Finding)
	if verbose || r.Status == Failed || r.Status == Warning || r.Status == Unknown {
		for _, e := range r.Evidence {
			fmt.Fprintf(b, "           - %s\n", e)
		}
	}
	if r.Remedy != "" {
		writeRemedy(b, r.Remedy)
	}
	if r.Status == Failed || r.Status == Warning || r.Status == Unknown {
		b.WriteString("\n")
	}
}

// writeRemedy writes what fixes it. Lines for a shell stand by themselves, so that they can be copied.
func writeRemedy(b *strings.Builder, remedy string) {
	lines := strings.Split(remedy, "\n")
	if len(lines) == 1 {
		fmt.Fprintf(b, "           fix: %s\n", remedy)
		return
	}
	b.WriteString("           fix:\n")
	for _, line := range lines {
		fmt.Fprintf(b, "             %s\n", line)
	}
}
