package status

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kerf-sh/kerf/internal/controller/overview"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/plan"
)

// few is how many lines of each list are written without verbose: all lists together are to fit on one screen.
const few = 5

// namedNodes is how many nodes one line names without verbose.
const namedNodes = 3

// Write writes the report for people; verbose lists all there is.
func (r *Report) Write(w io.Writer, verbose bool) error {
	var b strings.Builder
	fmt.Fprintf(&b, "cluster %s: %s\n\n", r.Cluster, r.Verdict())
	r.writeProblems(&b)
	if len(r.Problems) > 0 {
		b.WriteString("\n")
	}
	r.writeCost(&b)
	r.writeNodes(&b)
	most := few
	if verbose {
		most = int(^uint(0) >> 1)
	}
	r.writeWaiting(&b, most)
	r.writeMoves(&b, most)
	r.writeBlocked(&b, most)
	if verbose {
		r.writePools(&b)
	}
	_, err := io.WriteString(w, plain(b.String()))
	return err
}

// plain takes from texts of the cluster what a terminal would obey.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' || r >= 0x7f && r < 0xa0 {
			return -1
		}
		return r
	}, text)
}

// WriteProblems writes what is wrong, and nothing where nothing is.
func (r *Report) WriteProblems(w io.Writer) error {
	var b strings.Builder
	r.writeProblems(&b)
	_, err := io.WriteString(w, plain(b.String()))
	return err
}

// Verdict says in a few words how the cluster is.
func (r *Report) Verdict() string {
	bad, warnings := 0, 0
	for _, p := range r.Problems {
		if p.Level == overview.Bad {
			bad++
		} else {
			warnings++
		}
	}
	switch {
	case bad > 0 && warnings > 0:
		return plan.Count(bad, "problem") + ", " + plan.Count(warnings, "warning")
	case bad > 0:
		return plan.Count(bad, "problem")
	case overview.Started(r.Problems): // the page says the same (verdict in words.js)
		out := "just started"
		if n := r.Pods.Waiting; n > 0 {
			out += fmt.Sprintf(", %d pods wait", n)
		}
		return out
	}
	out := "healthy"
	if warnings > 0 {
		out = plan.Count(warnings, "warning")
	}
	if r.Pods.Waiting > 0 { // the page says the same (verdict in words.js)
		out += ", " + plan.Count(r.Pods.Waiting, "pod") + " on the way"
		if j := r.Joining; j != nil {
			out += " (" + j.Text(r.At) + ")"
		}
	}
	return out
}

func (r *Report) writeProblems(b *strings.Builder) {
	const indent = "         "
	for _, p := range r.Problems {
		fmt.Fprintf(b, "%-9s%s%s\n", strings.ToUpper(string(p.Level)), p.Title, r.times(&p))
		if p.Text != "" {
			fmt.Fprintf(b, "%s%s\n", indent, strings.ReplaceAll(p.Text, "\n", "\n"+indent))
		}
		if p.Object != "" && !strings.Contains(p.Title, p.Object) && !strings.Contains(p.Text, p.Object) && !strings.Contains(p.Remedy, p.Object) {
			fmt.Fprintf(b, "%s%s %s\n", indent, p.Kind, p.Object)
		}
		fmt.Fprintf(b, "%sfix: %s\n", indent, p.Remedy)
		for i := range p.Follows {
			f := &p.Follows[i]
			fmt.Fprintf(b, "%stherefore: %s%s\n", indent, f.Title, r.times(f))
		}
	}
}

// times says since when, until when, and when AWS is asked again.
func (r *Report) times(p *overview.Problem) string {
	out := ""
	if !p.Since.IsZero() {
		out += ", for " + r.ago(p.Since)
	}
	if !p.Until.IsZero() {
		out += ", until " + p.Until.UTC().Format("15:04:05 MST")
		out += r.in(p.Until)
	}
	if !p.RetryAt.IsZero() {
		out += "; asked again at about " + p.RetryAt.UTC().Format("15:04:05 MST") + r.in(p.RetryAt)
	}
	return out
}

// in is how long it is until a time; empty once it has come.
func (r *Report) in(t time.Time) string {
	left := t.Sub(r.At)
	if left <= 0 {
		return ""
	}
	return " (in " + duration.HumanDuration(left) + ")"
}

func (r *Report) ago(t time.Time) string { return duration.HumanDuration(max(0, r.At.Sub(t))) }

func (r *Report) writeCost(b *strings.Builder) {
	c := &r.Cost
	var shares []string
	for _, s := range []struct {
		name string
		Share
	}{{"on-demand", c.OnDemand}, {"spot", c.Spot}, {"reserved", c.Reserved}} {
		if s.Nodes > 0 {
			shares = append(shares, fmt.Sprintf("%d %s for %s", s.Nodes, s.name, r.perHour(s.Price)))
		}
	}
	if c.Running == 0 && c.Unpriced > 0 {
		b.WriteString("cost     not known yet: no price has been read\n")
		return
	}
	fmt.Fprintf(b, "cost     %s", r.perHour(c.Running))
	if len(shares) > 0 {
		fmt.Fprintf(b, ": %s", strings.Join(shares, ", "))
	}
	b.WriteString("\n")
	if c.Dear > 0 {
		fmt.Fprintf(b, "         %s of it is what nodes cost more that were launched while cheaper capacity was refused; Kerf looks for cheaper nodes as capacity returns\n", r.perHour(c.Dear))
	}
	switch {
	case c.Floor != nil:
		fmt.Fprintf(b, "floor    %s is the least that these pods can cost, proved", r.perHour(*c.Floor))
		if c.Gap != nil {
			fmt.Fprintf(b, "; gap %s%s", r.perHour(*c.Gap), part(*c.Gap, *c.Floor))
		}
		b.WriteString("\n")
		for _, k := range c.Constraints {
			fmt.Fprintf(b, "         %s of the floor is for %s of %s\n", r.perHour(k.Costs), k.Kind, named(k.Named, k.Workloads, few+1))
		}
	case c.FloorError != "":
		fmt.Fprintf(b, "floor    not found: %s\n", c.FloorError)
	}
}

// part is how much one amount is of another, in percent; empty where that is nothing.
func part(of, whole catalog.MicroUSD) string {
	if whole <= 0 {
		return ""
	}
	return fmt.Sprintf(" (%.1f %%)", 100*float64(of)/float64(whole))
}

// stateOrder is the order in which states are named.
var stateOrder = []overview.State{overview.Ready, overview.Launching, overview.Joining, overview.Starting, overview.NotReady, overview.Leaving, overview.Draining}

func (r *Report) writeNodes(b *strings.Builder) {
	var states []string
	for _, s := range stateOrder {
		if n := r.Nodes.ByState[s]; n > 0 {
			states = append(states, fmt.Sprintf("%d %s", n, s))
		}
	}
	if len(states) == 0 {
		states = []string{"none"}
	}
	fmt.Fprintf(b, "nodes    %s", strings.Join(states, ", "))
	if r.Nodes.Others > 0 {
		fmt.Fprintf(b, "; %d that Kerf did not launch", r.Nodes.Others)
	}
	fmt.Fprintf(b, "\npods     %d run, %d wait\n", r.Pods.Running, r.Pods.Waiting)
}

func (r *Report) writeWaiting(b *strings.Builder, most int) {
	if len(r.Waiting) == 0 {
		return
	}
	b.WriteString("\nwaiting pods\n")
	for _, w := range r.Waiting[:min(most, len(r.Waiting))] {
		what := w.Workload
		if what == "" {
			what = w.Pod
		}
		fmt.Fprintf(b, "  %d x %s, for %s: ", w.Count, what, r.ago(w.Since))
		switch {
		case w.Node != "":
			fmt.Fprintf(b, "room is kept on %s\n", (&overview.Waiting{Node: w.Node, Nodes: w.Nodes}).Where())
		case w.Why != "" && r.said(w.Why):
			b.WriteString("see the problem above\n")
		case w.Why != "":
			fmt.Fprintf(b, "%s\n", w.Why)
		default:
			b.WriteString("no decision has been made yet\n")
		}
	}
	r.more(b, len(r.Waiting), most, "line")
	if listed := r.listed(); listed < r.Pods.Waiting && most > few {
		fmt.Fprintf(b, "  and %s that the controller does not list\n", plan.Count(r.Pods.Waiting-listed, "more pod"))
	}
}

// said reports whether a problem that is written gives a reason already.
func (r *Report) said(why string) bool {
	return slices.ContainsFunc(r.Problems, func(p overview.Problem) bool { return p.Text == why })
}

func (r *Report) listed() (n int) {
	for _, w := range r.Waiting {
		n += w.Count
	}
	return n
}

func (r *Report) more(b *strings.Builder, have, most int, noun string) {
	if more := have - most; more > 0 {
		fmt.Fprintf(b, "  and %s (--verbose)\n", plan.Count(more, "more "+noun))
	}
}

func (r *Report) writeMoves(b *strings.Builder, most int) {
	if len(r.Moves) == 0 {
		return
	}
	b.WriteString("\nmoves\n")
	for _, m := range r.Moves[:min(most, len(r.Moves))] {
		state := r.begins(&m)
		fmt.Fprintf(b, "  %s, %s: %s", m.Cause, state, named(m.Nodes, len(m.Nodes), most))
		if len(m.New) > 0 {
			fmt.Fprintf(b, " -> %s", strings.Join(m.New, ", "))
		}
		if m.Saving > 0 {
			fmt.Fprintf(b, "; saves %s", r.perHour(m.Saving))
		}
		if m.Pods > 0 {
			fmt.Fprintf(b, "; moves %s", plan.Count(m.Pods, "pod"))
		}
		b.WriteString("\n")
		if m.Why != "" {
			fmt.Fprintf(b, "    %s\n", strings.ReplaceAll(m.Why, "\n", "\n    "))
		}
		if m.Waits != "" {
			fmt.Fprintf(b, "    %s\n", m.Waits)
		}
	}
	r.more(b, len(r.Moves), most, "move")
}

// begins says whether a move has begun, and when it does if it is found until then.
func (r *Report) begins(m *overview.Move) string {
	switch left := m.Begins.Sub(r.At); {
	case m.Begun:
		return "under way"
	case r.Held != nil && m.Cause != "Empty":
		return "found, and paused"
	case left > 0:
		return "found, begins in " + duration.HumanDuration(left) + " if that stays so"
	}
	return "found, begins as soon as it has its turn"
}

func (r *Report) writeBlocked(b *strings.Builder, most int) {
	if len(r.Blocked) == 0 {
		return
	}
	var sum catalog.MicroUSD
	for _, x := range r.Blocked {
		sum += x.Saves
	}
	fmt.Fprintf(b, "\nblocked savings, %s if each is counted by itself", r.perHour(sum))
	if gap := r.Cost.Gap; gap != nil && r.Pods.Waiting == 0 && sum > max(0, *gap) {
		fmt.Fprintf(b, "; together at most %s, the gap to the floor", r.perHour(max(0, *gap)))
	}
	b.WriteString("\n")
	for _, x := range r.Blocked[:min(most, len(r.Blocked))] {
		fmt.Fprintf(b, "  %s  %s: %s\n", r.perHour(x.Saves), x.Text, named(x.Nodes, x.Count, most))
	}
	r.more(b, len(r.Blocked), most, "line")
}

// named lists nodes: all that are known, or the first.
func named(nodes []string, count, most int) string {
	shown := nodes
	if most <= few {
		shown = nodes[:min(namedNodes, len(nodes))]
	}
	text := strings.Join(shown, ", ")
	if more := count - len(shown); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func (r *Report) writePools(b *strings.Builder) {
	if len(r.Pools) == 0 {
		return
	}
	b.WriteString("\nNodePools\n")
	pools := slices.SortedFunc(slices.Values(r.Pools), func(x, y overview.Pool) int { return strings.Compare(x.Name, y.Name) })
	for _, p := range pools {
		fmt.Fprintf(b, "  %s: %s, %s", p.Name, plan.Count(p.Nodes, "node"), r.perHour(p.Price))
		if p.NotReady != "" {
			fmt.Fprintf(b, "; can't launch: %s", p.NotReady)
		}
		b.WriteString("\n")
	}
}

// perHour writes an amount per hour, to the hundredth of a cent.
func (r *Report) perHour(m catalog.MicroUSD) string {
	if m < 0 {
		return r.Currency.Amount((m-50)/100*100) + "/h"
	}
	return r.Currency.Amount((m+50)/100*100) + "/h"
}
