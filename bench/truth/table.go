package truth

import (
	"fmt"
	"time"

	"github.com/kerf-sh/kerf/bench"
)

// Row is a story with all who played it; who did not is nil.
type Row struct {
	Story                      Story
	Seed                       uint64
	Simulated, Local, Upstream *Played
}

// tolerance is by how much a change in one run may come later than in the other and still be the same change.
const tolerance = 20 * time.Second

// Table puts the rows below each other.
func Table(rows []*Row) *bench.Table {
	t := &bench.Table{
		Title: fmt.Sprintf("%s of each story, after %s of what it has at its start", Horizon, Warmup),
		Head: []string{
			"story", "seed", "simulated $/h", "real control plane $/h", "difference", "apart over time", "nodes", "real", "difference", "apart over time",
			"p50 pending s", "real", "launches", "real", "upstream $/h", "upstream / Kerf",
		},
	}
	for _, r := range rows {
		cells := []string{r.Story.Name, fmt.Sprint(r.Seed)}
		s, l := r.Simulated, r.Local
		if s != nil && l != nil {
			bill, nodes := s.Mean()
			realBill, realNodes := l.Mean()
			cells = append(cells, money(bill), money(realBill), percent(bill/realBill-1), share(Apart(l, s, tolerance, dollars)),
				fmt.Sprintf("%.1f", nodes), fmt.Sprintf("%.1f", realNodes), percent(nodes/realNodes-1), share(Apart(l, s, tolerance, instances)),
				fmt.Sprintf("%.0f", s.P50), fmt.Sprintf("%.0f", l.P50), fmt.Sprint(s.Launches), fmt.Sprint(l.Launches))
		} else {
			cells = append(cells, "", "", "", "", "", "", "", "", "", "", "", "")
		}
		bill, ratio := "", ""
		if u := r.Upstream; u != nil {
			theirs, _ := u.Mean()
			bill = money(theirs)
			if l != nil {
				ours, _ := l.Mean()
				ratio = fmt.Sprintf("%.2f", theirs/ours)
			}
		}
		cells = append(cells, bill, ratio)
		t.Rows = append(t.Rows, cells)
	}
	return t
}

func dollars(p Point) float64     { return p.Bill }
func instances(p Point) float64   { return float64(p.Nodes) }
func money(v float64) string      { return fmt.Sprintf("%.3f", v) }
func percent(part float64) string { return fmt.Sprintf("%+.1f %%", 100*part) }
func share(part float64) string   { return fmt.Sprintf("%.1f %%", 100*part) }

// Curves are both bills over time, for a look at where they part.
func Curves(r *Row) *bench.Table {
	t := &bench.Table{Title: fmt.Sprintf("%s, seed %d", r.Story.Name, r.Seed), Head: []string{"s", "simulated $/h", "nodes", "pods", "real $/h", "nodes", "pods"}}
	for i := range r.Local.Points {
		l := r.Local.Points[i]
		cells := []string{fmt.Sprintf("%.0f", l.At.Seconds()), "", "", "", money(l.Bill), fmt.Sprint(l.Nodes), fmt.Sprint(l.Running)}
		for _, s := range r.Simulated.Points {
			if s.At.Round(every) == l.At.Round(every) {
				cells[1], cells[2], cells[3] = money(s.Bill), fmt.Sprint(s.Nodes), fmt.Sprint(s.Running)
			}
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}
