package simulate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/report"
)

// MovedWorkload is how many pods of a workload were moved, and why, the most frequent reason first.
type MovedWorkload struct {
	Workload string  `json:"workload"`
	Count    int     `json:"count"`
	Reasons  []Count `json:"reasons"`
}

// movedOf are the pods that were moved by reason and by workload, the most first.
func movedOf(moved map[moving]int) (reasons []Count, workloads []MovedWorkload) {
	byReason, byWorkload := map[string]int{}, map[string]map[string]int{}
	for m, n := range moved {
		byReason[m.reason] += n
		if byWorkload[m.workload] == nil {
			byWorkload[m.workload] = map[string]int{}
		}
		byWorkload[m.workload][m.reason] += n
	}
	for name, of := range byWorkload {
		w := MovedWorkload{Workload: name, Reasons: countsOf(of)}
		for _, n := range of {
			w.Count += n
		}
		workloads = append(workloads, w)
	}
	slices.SortFunc(workloads, func(a, b MovedWorkload) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Workload, b.Workload))
	})
	return countsOf(byReason), workloads
}

// movedShown is how many workloads a summary has.
const movedShown = 5

// mostMoved says which workloads were moved most; empty if none was.
func mostMoved(workloads []MovedWorkload, number func(int) string) string {
	var out []string
	for i, w := range workloads {
		if i == movedShown && len(workloads) > movedShown+1 {
			out = append(out, fmt.Sprintf("and %d more workloads (-o json has all)", len(workloads)-i))
			break
		}
		out = append(out, w.Workload+" "+number(w.Count))
	}
	return strings.Join(out, ", ")
}

// overSeeds is a sum over runs as their mean.
func overSeeds(sum int, runs []*Result) string {
	return report.Number(float64(sum) / float64(max(1, len(runs))))
}

// meansNote says that figures are means over the seeds; empty of one run.
func meansNote(runs []*Result) string {
	if len(runs) < 2 {
		return ""
	}
	return fmt.Sprintf(" (means over %d seeds)", len(runs))
}

// whyMoved says how many pods were moved for which reason, of several seeds the means; empty if none was.
func whyMoved(runs []*Result) string {
	var out []string
	for _, c := range countsOf(reasonsOf(runs)) {
		out = append(out, overSeeds(c.Count, runs)+" "+c.Reason)
	}
	if len(out) == 0 {
		return ""
	}
	return strings.Join(out, ", ") + meansNote(runs)
}

// reasonsOf are the pods that were moved in all runs, by why.
func reasonsOf(runs []*Result) map[string]int {
	out := map[string]int{}
	for _, r := range runs {
		for _, c := range r.Moved {
			out[c.Reason] += c.Count
		}
	}
	return out
}

// mostMovedOf says which workloads were moved most, of several seeds the means; empty if none was.
func mostMovedOf(runs []*Result) string {
	all := map[moving]int{}
	for _, r := range runs {
		for _, w := range r.MovedWorkloads {
			all[moving{workload: w.Workload}] += w.Count
		}
	}
	_, workloads := movedOf(all)
	text := mostMoved(workloads, func(n int) string { return overSeeds(n, runs) })
	if text == "" {
		return ""
	}
	return text + meansNote(runs)
}

// movedTable is how many pods of each workload were moved, a column for each configuration: of several seeds the mean.
func movedTable(all []Configured) report.Table {
	t := report.Table{Title: "Pods moved, by workload", Columns: []report.Column{{Title: "Workload"}}, Fold: 12, Empty: "No pod was moved."}
	sums, of := map[string]int{}, make([]map[string]int, len(all))
	several := false
	for i := range all {
		of[i] = map[string]int{}
		several = several || len(all[i].Results) > 1
		title := all[i].Name
		t.Columns = append(t.Columns, report.Column{Title: title, Number: true})
		for _, r := range all[i].Results {
			for _, w := range r.MovedWorkloads {
				of[i][w.Workload] += w.Count
				sums[w.Workload] += w.Count
			}
		}
	}
	if several {
		t.Title += "; means over the seeds"
	}
	for _, c := range countsOf(sums) {
		row := report.Cells(c.Reason)
		for i := range all {
			row = append(row, report.Cell{Text: report.Number(float64(of[i][c.Reason]) / float64(len(all[i].Results)))})
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
