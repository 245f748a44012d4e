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
func mostMoved(workloads []MovedWorkload) string {
	var out []string
	for i, w := range workloads {
		if i == movedShown && len(workloads) > movedShown+1 {
			out = append(out, fmt.Sprintf("and %d more workloads (-o json has all)", len(workloads)-i))
			break
		}
		out = append(out, fmt.Sprintf("%s %d", w.Workload, w.Count))
	}
	return strings.Join(out, ", ")
}

// mostMoved says which workloads were moved most, of several seeds in all of them.
func (c *Configured) mostMoved() string {
	all := map[moving]int{}
	for _, r := range c.Results {
		for _, w := range r.MovedWorkloads {
			all[moving{workload: w.Workload}] += w.Count
		}
	}
	_, workloads := movedOf(all)
	text := mostMoved(workloads)
	if text != "" && len(c.Results) > 1 {
		text += fmt.Sprintf(" (in %d seeds)", len(c.Results))
	}
	return text
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
