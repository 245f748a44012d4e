package simulate

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/kerf-sh/kerf/internal/report"
)

// CompareRuns is the report of several configurations. The results are seed by seed those of all configurations, as Runner.Run returns them. Of runs
// that were ended early it has all that were finished, and the others with what they have.
//
// Errors: nothing was counted in any run.
func CompareRuns(configurations []*Configuration, results []*Result) (*Report, error) {
	out := &Report{Interrupted: early(results)}
	by := make([][]*Result, len(configurations))
	for i, r := range results {
		by[i%len(by)] = append(by[i%len(by)], r)
	}
	for _, c := range configurations {
		out.Compared = append(out.Compared, c.Name)
	}
	comparison, err := Compare(out.Compared, by)
	switch {
	case err == nil:
		comparison.Tell(configurations)
		out.Comparison = comparison
	case out.Interrupted == "":
		return nil, err
	default:
		out.Interrupted += "; " + err.Error()
	}
	for _, of := range by {
		for _, r := range of {
			if r.Counted() && (comparison == nil || !comparison.Has(r)) {
				out.Runs = append(out.Runs, r)
			}
		}
	}
	if comparison == nil && len(out.Runs) == 0 {
		return nil, ErrNothingCounted
	}
	return out, nil
}

// SeedRuns is the report of one configuration. Of runs that were ended early it has those that were finished, or else the one that came
// furthest.
//
// Errors: nothing was counted in any run.
func SeedRuns(results []*Result) (*Report, error) {
	out := &Report{Interrupted: early(results)}
	var furthest *Result
	for _, r := range results {
		if r.Whole() {
			out.Runs = append(out.Runs, r)
		} else if r.Counted() && (furthest == nil || r.SimulatedSeconds > furthest.SimulatedSeconds) {
			furthest = r
		}
	}
	if len(out.Runs) == 0 {
		if furthest == nil {
			return nil, ErrNothingCounted
		}
		out.Runs = []*Result{furthest}
	}
	return out, nil
}

// ErrNothingCounted is that all runs were ended before anything was counted.
var ErrNothingCounted = errors.New("it was ended before the warm-up was over, so nothing was counted: let it run longer, or shorten --warmup")

// early says how many runs were ended early; empty: none.
func early(results []*Result) string {
	finished, ended, missing := 0, 0, 0
	for _, r := range results {
		switch {
		case r == nil:
			missing++
		case r.Whole():
			finished++
		default:
			ended++
		}
	}
	switch {
	case ended+missing == 0:
		return ""
	case len(results) == 1:
		return "it was ended early; figures are of what was simulated"
	}
	return fmt.Sprintf("of %d runs, %d were finished, %d ended early and %d did not begin", len(results), finished, ended, missing)
}

// writeCompared writes the comparison, then the runs that are compared with nothing.
func (r *Report) writeCompared(b *bytes.Buffer) {
	if r.Comparison == nil {
		fmt.Fprintf(b, "Comparison of %s, interrupted\n", strings.Join(r.Compared, ", "))
	} else {
		r.Comparison.write(b)
	}
	if len(r.Runs) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s:\n", notComparedTitle)
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	for _, row := range runRows(r.Runs) {
		fmt.Fprintln(w, strings.Join(row, "\t")+"\t")
	}
	_ = w.Flush()
}

const notComparedTitle = "Runs that are compared with nothing"

// runRows is a table of runs: a column for each run, a row for each figure.
func runRows(runs []*Result) [][]string {
	names, seeds, played := []string{""}, []string{"seed"}, []string{"played"}
	for _, r := range runs {
		names, seeds = append(names, r.Configuration), append(seeds, fmt.Sprint(r.Seed))
		text := span(r.Simulated())
		if !r.Whole() {
			text += " of " + span(time.Duration(r.HorizonSeconds)*time.Second)
		}
		played = append(played, text)
	}
	out := [][]string{names, seeds, played}
	for i := range Metrics {
		row := []string{Metrics[i].Title}
		for _, r := range runs {
			row = append(row, Metrics[i].in(r.money()).one(&r.Totals))
		}
		out = append(out, row)
	}
	return out
}

// comparedPage is the page of several configurations.
func (r *Report) comparedPage() report.Page {
	title := "Comparison of " + many(len(r.Compared), "configuration")
	if r.Interrupted != "" {
		title += ", interrupted"
	}
	p := report.Page{Subtitle: strings.Join(r.Compared, ", ")}
	if r.Comparison != nil {
		p = r.Comparison.page()
	}
	p.Title = title
	if len(r.Runs) == 0 {
		return p
	}
	rows := runRows(r.Runs)
	t := report.Table{Columns: []report.Column{{Title: "Figure"}}}
	for _, name := range rows[0][1:] {
		t.Columns = append(t.Columns, report.Column{Title: name, Number: true})
	}
	for _, row := range rows[1:] {
		t.Rows = append(t.Rows, report.Cells(row...))
	}
	section := report.Section{Title: notComparedTitle, Blocks: []report.Block{t}}
	if r.Comparison == nil {
		p.Subtitle = r.Runs[0].Workload + ", " + p.Subtitle
		p.Sections = append(p.Sections, section)
		return p
	}
	p.Sections = append([]report.Section{section}, p.Sections...)
	return p
}
