package bench

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/kerf-sh/kerf/bench/peer"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
)

// Table is rows of cells under a head.
type Table struct {
	Title string
	Head  []string
	Rows  [][]string
}

// Text writes the table for a terminal.
func (t *Table) Text(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(tw, "%s\n%s\t\n", t.Title, strings.Join(t.Head, "\t"))
	for _, r := range t.Rows {
		fmt.Fprintf(tw, "%s\t\n", strings.Join(r, "\t"))
	}
	return tw.Flush()
}

// Markdown writes the table for a page.
func (t *Table) Markdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "| %s |\n|%s\n", strings.Join(t.Head, " | "), strings.Repeat(" --: |", len(t.Head)))
	for _, r := range t.Rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(r, " | "))
	}
	_, err := fmt.Fprintf(w, "%s\n\n%s", t.Title, b.String())
	return err
}

// WriteMarkdown writes tables to a file as Markdown; nothing where path is empty or there are none.
func WriteMarkdown(path string, tables ...*Table) error {
	if path == "" || len(tables) == 0 {
		return nil
	}
	var b bytes.Buffer
	for i, t := range tables {
		if i > 0 {
			b.WriteByte('\n')
		}
		if err := t.Markdown(&b); err != nil {
			return err
		}
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}

// Say tells on standard error what goes on, with the time of the day.
func Say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format("15:04:05 ")+format+"\n", args...)
}

// Tables are what the rows say about time, memory and money.
func Tables(rows []*Row, thinned []*Thinned, steadied []*Steadied) []*Table {
	var out []*Table
	if len(rows) > 0 {
		out = append(out, speed(rows), memory(rows), money(rows))
	}
	if len(thinned) > 0 {
		out = append(out, thinning(thinned), looks(thinned))
	}
	if len(steadied) > 0 {
		out = append(out, steadily(steadied))
	}
	return out
}

func speed(rows []*Row) *Table {
	t := &Table{Title: "One decision as the controllers make it, CPU seconds (Kerf: pods are hashed, the problem solved, the plan checked; upstream: nodes copied, the scheduler made, pods solved; ratio = upstream / Kerf)",
		Head: []string{"input", "pods", "upstream s", "wall s", "Kerf s", "ratio", "with the first plan only s", "ratio", "left by upstream", "left by Kerf"}}
	for _, r := range rows {
		u := seconds(r.Peer.CPU)
		left := fmt.Sprint(r.Peer.Unplaced)
		if r.Peer.CutShort {
			u, left = "> "+u, left+", cut short"
		}
		t.Rows = append(t.Rows, []string{r.Input, fmt.Sprint(r.Pods), u, seconds(r.Peer.Wall), seconds(r.Kerf.CPU), ratio(r.Peer.CPU, r.Kerf.CPU),
			seconds(r.First.CPU), ratio(r.Peer.CPU, r.First.CPU), left, fmt.Sprint(r.Kerf.Unplaced)})
	}
	return t
}

func memory(rows []*Row) *Table {
	t := &Table{Title: "Memory allocated in one pass", Head: []string{"input", "upstream MB", "Kerf MB", "ratio", "upstream allocations", "Kerf allocations", "ratio"}}
	for _, r := range rows {
		t.Rows = append(t.Rows, []string{r.Input, fmt.Sprintf("%.1f", float64(r.Peer.Bytes)/1e6), fmt.Sprintf("%.1f", float64(r.Kerf.Bytes)/1e6),
			times(float64(r.Peer.Bytes) / float64(r.Kerf.Bytes)), thousands(r.Peer.Allocs), thousands(r.Kerf.Allocs), times(float64(r.Peer.Allocs) / float64(r.Kerf.Allocs))})
	}
	return t
}

func money(rows []*Row) *Table {
	t := &Table{Title: "Price of the plan per hour, each new node at the cheapest offering left to it, and what can't be undercut",
		Head: []string{"input", "nodes upstream", "nodes Kerf", "upstream $/h", "Kerf $/h", "less", "Kerf first plan $/h", "bound $/h", "gap upstream", "gap Kerf", "preferences declined", "rules upstream breaks"}}
	for _, r := range rows {
		less := "n/a"
		if r.Peer.Price > 0 && r.Peer.Unplaced == r.Kerf.Unplaced {
			less = percent(1 - float64(r.Kerf.Price)/float64(r.Peer.Price))
		}
		breaks := "not judged"
		if r.Peer.Judged {
			breaks = fmt.Sprint(len(r.Peer.Violations))
		}
		t.Rows = append(t.Rows, []string{r.Input, fmt.Sprint(r.Peer.Nodes), fmt.Sprint(r.Kerf.Nodes), dollars(r.Peer.Price), dollars(r.Kerf.Price), less,
			dollars(r.First.Price), dollars(r.Bound), percent(r.Peer.Gap), percent(r.Kerf.Gap), fmt.Sprint(r.Declined), breaks})
	}
	return t
}

func thinning(rows []*Thinned) *Table {
	t := &Table{Title: "Consolidation: one complete look at the cluster, then rounds until nothing more is found (CPU seconds; no waiting in between)",
		Head: []string{"input", "engine", "first look s", "of that empty, multi, single", "ratio", "MB", "$/h before", "after one round", "after all", "bound", "gap", "nodes", "rounds", "all rounds s", "pods moved"}}
	for _, r := range rows {
		for _, s := range []struct {
			name string
			t    Thinning
		}{{"upstream", r.Peer}, {"Kerf, as it ships", r.Ships}, {"Kerf, unrestrained", r.Kerf}} {
			parts, rounds := "", fmt.Sprint(s.t.Rounds)
			if s.t.Methods != nil {
				parts = fmt.Sprintf("%s, %s, %s", seconds(s.t.Methods[peer.Empty]), seconds(s.t.Methods[peer.Multi]), seconds(s.t.Methods[peer.Single]))
			}
			if !s.t.Ended {
				rounds += " and not at the end"
			}
			t.Rows = append(t.Rows, []string{r.Input, s.name, seconds(s.t.First.CPU), parts, ratio(r.Peer.First.CPU, s.t.First.CPU), fmt.Sprintf("%.1f", float64(s.t.First.Bytes)/1e6),
				dollars(r.Before), dollars(s.t.AfterFirst), dollars(s.t.After), dollars(r.Bound), percent(gap(s.t.After, r.Bound)),
				fmt.Sprintf("%d → %d", r.Nodes, s.t.Nodes), rounds, seconds(s.t.Total), fmt.Sprint(s.t.Moved)})
		}
	}
	return t
}

func looks(rows []*Thinned) *Table {
	t := &Table{Title: "A look at every node of a cluster in which Kerf finds nothing left to do",
		Head: []string{"input", "nodes", "upstream s", "Kerf s", "ratio", "Kerf again s", "upstream MB", "Kerf MB", "$/h", "upstream would still save $/h"}}
	for _, r := range rows {
		t.Rows = append(t.Rows, []string{r.Input, fmt.Sprint(r.Settled), seconds(r.PeerLooks.CPU), seconds(r.KerfLooks.CPU), ratio(r.PeerLooks.CPU, r.KerfLooks.CPU),
			seconds(r.KerfAgain.CPU), fmt.Sprintf("%.1f", float64(r.PeerLooks.Bytes)/1e6), fmt.Sprintf("%.1f", float64(r.KerfLooks.Bytes)/1e6), dollars(r.Kerf.After), dollars(r.PeerSaves)})
	}
	return t
}

func seconds(d time.Duration) string {
	switch s := d.Seconds(); {
	case s >= 10:
		return fmt.Sprintf("%.1f", s)
	case s >= 0.1:
		return fmt.Sprintf("%.2f", s)
	default:
		return fmt.Sprintf("%.4f", s)
	}
}

func ratio(a, b time.Duration) string { return times(a.Seconds() / max(b.Seconds(), 1e-9)) }

func times(x float64) string {
	if x >= 10 {
		return fmt.Sprintf("%.0f×", x)
	}
	return fmt.Sprintf("%.1f×", x)
}

func percent(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) }

func dollars(m catalog.MicroUSD) string { return fmt.Sprintf("%.3f", float64(m)/1e6) }

func thousands(n uint64) string { return fmt.Sprintf("%.1f k", float64(n)/1e3) }
