package changeplan

import (
	"fmt"
	"io"
	"strings"
	"time"

	controller "github.com/kerf-sh/kerf/internal/controller/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/plan"
)

// Write writes the report for people. all lists the nodes that stay as well, one by one.
func (r *Report) Write(out io.Writer, all bool) error {
	var b strings.Builder
	r.writeAnswer(&b)
	r.writeBill(&b)
	b.WriteString("\n")
	for i := range r.Changes {
		r.Changes[i].write(&b)
	}
	if len(r.Changes) == 0 {
		b.WriteString("Nothing is changed, and the classes select what they did.\n\n")
	}
	r.writeNodes(&b, all)
	r.writePools(&b)
	for i, g := range r.Gaps {
		if i == 0 {
			b.WriteString("\nNot known:\n")
		}
		fmt.Fprintf(&b, "  %s\n", g)
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// WriteAnswer writes what happens to how many nodes, and what that costs, and nothing else.
func (r *Report) WriteAnswer(out io.Writer) error {
	var b strings.Builder
	r.writeAnswer(&b)
	r.writeBill(&b)
	_, err := io.WriteString(out, b.String())
	return err
}

// writeAnswer says in a line or two what happens to how many nodes, and when.
func (r *Report) writeAnswer(b *strings.Builder) {
	for i := range r.Changes {
		if c := &r.Changes[i]; len(c.Problems) > 0 {
			fmt.Fprintf(b, "%s can't be used as it is: %s\n", title(c.Kind, c.Name), c.Problems[0])
		}
	}
	rolling := r.Rolling()
	if rolling == 0 {
		fmt.Fprintf(b, "None of %s is replaced.\n", plan.Count(len(r.Nodes), "node"))
		return
	}
	var takes int64
	blocked, never := 0, 0
	for i := range r.Pools {
		p := &r.Pools[i]
		blocked, never = blocked+p.Blocked, never+p.Never
		takes = max(takes, p.Takes)
	}
	fmt.Fprintf(b, "%d of %s replaced", rolling-blocked-never, plan.Count(len(r.Nodes), "node"))
	if takes > 0 {
		fmt.Fprintf(b, " in about %s", span(takes))
	}
	if blocked > 0 {
		fmt.Fprintf(b, "; %d more to be replaced, and BLOCKED", blocked)
	}
	if never > 0 {
		fmt.Fprintf(b, "; %d more to be replaced, and no budget lets them", never)
	}
	b.WriteString(".\n")
}

func (r *Report) writeNodes(b *strings.Builder, all bool) {
	staying := map[string]int{}
	var order []string
	for i := range r.Nodes {
		n := &r.Nodes[i]
		if n.Rolls {
			n.write(b, r.Currency)
			continue
		}
		if all {
			fmt.Fprintf(b, "  %s stays: %s\n", n.title(r.Currency), n.Stays)
			continue
		}
		why := fmt.Sprintf("of NodePool %s: %s", n.Pool, n.Stays)
		if staying[why] == 0 {
			order = append(order, why)
		}
		staying[why]++
	}
	for _, why := range order {
		fmt.Fprintf(b, "  no change for %s %s\n", plan.Count(staying[why], "node"), why)
	}
	b.WriteString("\n")
}

func (n *Node) title(in catalog.Currency) string {
	text := n.Name
	if n.InstanceType != "" {
		text += fmt.Sprintf(" (%s, %s %s, %s", n.Pool, n.InstanceType, n.CapacityType, n.Zone)
		if n.Price > 0 {
			text += ", " + in.Amount(n.Price) + "/h"
		}
		text += ")"
	}
	return text
}

func (n *Node) write(b *strings.Builder, in catalog.Currency) {
	fmt.Fprintf(b, "  %s", n.title(in))
	switch {
	case len(n.Blocks) > 0:
		b.WriteString(" would go and STAYS for now")
	case n.Turn != nil && n.Turn.Start == 0:
		fmt.Fprintf(b, " goes at once, gone after about %s", span(n.Turn.End))
	case n.Turn != nil:
		fmt.Fprintf(b, " goes after about %s, gone after %s", span(n.Turn.Start), span(n.Turn.End))
	}
	b.WriteString("\n")
	for _, c := range n.Causes {
		fmt.Fprintf(b, "      why %s: %s\n", c.Reason, c.Message)
	}
	if n.Already {
		b.WriteString("      it is drifted as things are, without the change\n")
	}
	for _, block := range n.Blocks {
		fmt.Fprintf(b, "      blocked: %s\n", block)
	}
	if len(n.With) > 0 && len(n.New)+len(n.To) == 0 {
		fmt.Fprintf(b, "      together with %s\n", strings.Join(n.With, ", "))
	}
	for _, m := range n.New {
		fmt.Fprintf(b, "      new from pool %s: %s %s %s at %s/h", m.Pool, m.InstanceType, m.CapacityType, m.Zone, in.Amount(m.Price))
		if m.Others > 0 {
			fmt.Fprintf(b, ", or one of %s", plan.Count(m.Others, "other type"))
		}
		fmt.Fprintf(b, ", for %s\n", plan.Count(m.Pods, "pod"))
	}
	for _, t := range n.To {
		fmt.Fprintf(b, "      to %s: %s\n", t.Node, plan.Count(t.Pods, "pod"))
	}
}

func (r *Report) writePools(b *strings.Builder) {
	for i := range r.Pools {
		p := &r.Pools[i]
		if p.NotReady != "" {
			fmt.Fprintf(b, "NodePool %s could launch nothing: %s\n", p.Name, p.NotReady)
		}
		if p.Roll == 0 {
			continue
		}
		fmt.Fprintf(b, "NodePool %s: %s", p.Name, p.Budget)
		going := p.Roll - p.Blocked - p.Never
		if going > 0 {
			fmt.Fprintf(b, "; %s in about %s", plan.Count(going, "node"), span(p.Takes))
		}
		if p.Blocked > 0 {
			fmt.Fprintf(b, "; %d blocked", p.Blocked)
		}
		if p.Never > 0 {
			fmt.Fprintf(b, "; %d without a turn", p.Never)
		}
		b.WriteString("\n")
		if going > 0 {
			fmt.Fprintf(b, "  a new node takes %s (%s), pods of an old one up to %s to end, its instance about %s; the first pod goes no sooner than %s after the taint\n",
				span(p.Launch), p.LaunchFrom, span(p.Drain), span(p.InstanceEnd), span(seconds(controller.Settle)))
		}
	}
}

func (r *Report) writeBill(b *strings.Builder) {
	bill := r.Bill
	fmt.Fprintf(b, "Bill: %s/h -> %s/h", r.Currency.Amount(bill.Now), r.Currency.Amount(bill.After))
	if d := bill.After - bill.Now; d != 0 {
		sign := "+"
		if d < 0 {
			sign, d = "-", -d
		}
		fmt.Fprintf(b, " (%s%s/h)", sign, r.Currency.Amount(d))
	}
	if bill.Surge > 0 {
		fmt.Fprintf(b, "; meanwhile up to %s/h more, %s in all", r.Currency.Amount(bill.Surge), r.Currency.Amount(bill.Extra))
	}
	if bill.Unknown > 0 {
		fmt.Fprintf(b, "; the price of %s is not known and left out", plan.Count(bill.Unknown, "node"))
	}
	if bill.Going > 0 {
		fmt.Fprintf(b, "; without %s going anyway, and what may be launched for their pods", plan.Count(bill.Going, "node"))
	}
	b.WriteString("\n")
}

// span is a time for people.
func span(s int64) string {
	d := time.Duration(s) * time.Second
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%.1f days", d.Hours()/24)
	case d >= time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	case d >= time.Minute:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), s%60)
	}
	return fmt.Sprintf("%ds", s)
}
