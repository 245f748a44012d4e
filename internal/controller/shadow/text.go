package shadow

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/plan"
)

// String is the summary for people.
func (s *Summary) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Shadow run of %s, %s; nothing was changed.\n", s.Until.Sub(s.Since).Round(time.Second), plan.Count(s.Rounds, "decision"))
	if len(s.Refused) > 0 {
		fmt.Fprintf(&b, "CALLS THAT WOULD HAVE CHANGED SOMETHING WERE REFUSED: %v; please report it.\n", s.Refused)
	}
	b.WriteString("\n")
	w := tabwriter.NewWriter(&b, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "NODEPOOL\tNODES\tRUNNING/h\tWOULD GO/h\tWOULD COME/h\tKERF/h\tDIFFERENCE/h\t\n")
	for _, p := range append(s.Pools, s.Total) {
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%s\t%s\t\n", p.Name, p.Nodes, s.Currency.Amount(p.Running), s.Currency.Amount(p.Saved), s.Currency.Amount(p.Launched), s.Currency.Amount(p.Kerf), signed(p.Kerf-p.Running, s.Currency))
	}
	_ = w.Flush()
	if s.Unpriced > 0 {
		fmt.Fprintf(&b, "The price of %s is not known and left out.\n", plan.Count(s.Unpriced, "node"))
	}
	fmt.Fprintf(&b, "\nSince the start the running nodes cost %s more than Kerf's decisions would have left at each moment.\n", signed(s.Missed, s.Currency))
	for i, c := range s.Counts {
		if i == 0 {
			b.WriteString("\nKerf would have done, each counted once:\n")
		}
		fmt.Fprintf(&b, "  %s (%s) in NodePool %s: %d times\n", c.What, c.Reason, c.Pool, c.N)
	}
	for i := range s.Last {
		if i == 0 {
			b.WriteString("\nLast:\n")
		}
		fmt.Fprintf(&b, "  %s %s\n", s.Last[i].At.Format("15:04:05"), s.Last[i].String())
	}
	return b.String()
}

// String is the preference in a line.
func (w *Intent) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s)", w.What, w.Reason)
	if len(w.Nodes) > 0 {
		fmt.Fprintf(&b, " %s", strings.Join(w.Nodes, ", "))
	}
	if len(w.New) > 0 {
		fmt.Fprintf(&b, " by %s", strings.Join(w.New, "; "))
	}
	switch {
	case w.Pods == 0:
	case len(w.Nodes) > 0: // some of them may go to nodes that stay
		fmt.Fprintf(&b, ", moves %s", plan.Count(w.Pods, "pod"))
	default:
		fmt.Fprintf(&b, " for %s", plan.Count(w.Pods, "pod"))
	}
	if w.Saving >= 0 {
		fmt.Fprintf(&b, ", saves %s/h", w.Currency.Amount(w.Saving))
	} else {
		fmt.Fprintf(&b, ", costs %s/h", w.Currency.Amount(-w.Saving))
	}
	if w.Why != "" {
		fmt.Fprintf(&b, ": %s", w.Why)
	}
	return b.String()
}

func signed(m catalog.MicroUSD, in catalog.Currency) string {
	if m < 0 {
		return "-" + in.Amount(-m)
	}
	return "+" + in.Amount(m)
}
