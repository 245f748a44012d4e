package top

import (
	"context"
	"fmt"
	"strings"

	"github.com/kerf-sh/kerf/internal/controller/overview"
)

const (
	// fullNamesFrom is the width from which on names of nodes are written with their domain, whyFrom the one with a column for why.
	fullNamesFrom = 170
	whyFrom       = 120
	// never is a width that no screen has.
	never = 1 << 30
)

// nodeColumns are the columns for a width.
func (m *Model) nodeColumns() []column {
	bar, name, pool := 8, 0, 140
	if m.width >= whyFrom {
		bar, name = 10, max(12, min(26, m.longestShort+2))
	}
	if m.width >= fullNamesFrom {
		bar, name = 24, max(12, min(44, m.longest+2))
	}
	if m.nodes.Group {
		pool = never
	}
	return []column{
		{title: "NODE", width: name},
		{title: "NODEPOOL", width: 14, from: pool},
		{title: "TYPE", width: 13, from: 60},
		{title: "ZONE", width: 11, from: 140},
		{title: "CAPACITY", width: 9, from: 96},
		{title: "USE", width: bar, from: 44},
		{title: "", width: 8, from: 30},
		{title: m.priceTitle(), width: 7, right: true, from: 36},
		{title: "PODS", width: 4, right: true, from: 68},
		{title: "AGE", width: 5, right: true, from: 76},
		{title: "STATE", width: 9},
		{title: "WHY", from: whyFrom},
	}
}

// sorted is the title of the column that nodes are sorted by.
func (m *Model) sorted() string {
	return map[Sort]string{byName: "NODE", byPrice: m.priceTitle(), byUse: "USE", byAge: "AGE"}[m.nodes.Sort]
}

// priceTitle is the title of the column of prices.
func (m *Model) priceTitle() string { return m.doc.Currency.Symbol() + "/H" }

func (m *Model) nodeEntry(i int) entry {
	if g := m.rows[i].pool; g != nil {
		return m.groupEntry(g)
	}
	n := m.rows[i].node
	u := used(n)
	columns := m.nodeColumns()
	name := n.Name
	if m.width < fullNamesFrom {
		name = short(name)
	}
	if m.nodes.Group {
		name = "  " + name
	}
	percent := ""
	if u.Has > 0 {
		percent = fmt.Sprintf("%3.0f%% %s", 100*u.part(), u.resource)
	}
	price := "?"
	switch {
	case n.Price > 0:
		price = m.money(n.Price)
	case n.Claim == "" || n.State == overview.Launching:
		price = ""
	}
	e := entry{
		key:   n.Name,
		cells: []string{name, n.Pool, n.InstanceType, n.Zone, n.CapacityType, m.look.bar.draw(u.Amount, columns[5].width), percent, price, fmt.Sprint(n.Running()), m.ago(n.Created), m.state(n), m.why(n)},
		open: func() *detail {
			return &detail{
				title: "Node " + n.Name, head: m.describe(n),
				ask: func(ctx context.Context, l *overview.Link) (*overview.Explanation, error) { return l.Node(ctx, n.Name) },
			}
		},
	}
	switch n.State {
	case overview.NotReady:
		e.level = overview.Bad
	case overview.Launching, overview.Joining, overview.Starting, overview.Leaving, overview.Draining:
		e.level = overview.Warn
	case overview.Ready:
		if v := m.moved[n.Name]; v != nil && v.Begun {
			e.level = overview.Warn
		}
		e.quiet = n.Claim == ""
	}
	return e
}

func (m *Model) groupEntry(g *group) entry {
	name := g.name
	if name == "" {
		name = "(no NodePool)"
	}
	mark := "▾ "
	if g.closed {
		mark = "▸ "
	}
	u := use{"cpu", g.cpu}
	if mem := (use{"mem", g.mem}); mem.part() > u.part() {
		u = mem
	}
	percent := ""
	if u.Has > 0 {
		percent = fmt.Sprintf("%3.0f%% %s", 100*u.part(), u.resource)
	}
	return entry{key: "pool " + g.name, cells: []string{
		mark + name, "", counted(g.nodes, "node"), "", "", m.look.bar.draw(u.Amount, m.nodeColumns()[5].width), percent, m.saving(g.price), "", "", "", "",
	}}
}

// state is where a node stands, in nine letters.
func (m *Model) state(n *overview.Node) string {
	if v := m.moved[n.Name]; v != nil && v.Begun && n.State == overview.Ready {
		return string(overview.Leaving)
	}
	return string(n.State)
}

// why says what is to become of a node, or what keeps it.
func (m *Model) why(n *overview.Node) string {
	if v := m.moved[n.Name]; v != nil {
		if v.Begun {
			return "being removed (" + v.Cause + "): " + v.Why
		}
		return "may go (" + v.Cause + "): " + v.Why
	}
	switch n.State {
	case overview.Launching:
		return "on its way: EC2 is asked for it"
	case overview.Joining:
		return "on its way: the instance boots and has not joined"
	case overview.Starting:
		return "on its way: it has joined and can't take pods yet"
	case overview.Leaving, overview.Draining:
		return "being removed"
	case overview.NotReady:
		return "kubectl describe node says why it is not ready"
	case overview.Ready:
	}
	if n.Claim == "" {
		return "Kerf did not launch it"
	}
	if n.Hold == nil {
		return ""
	}
	text := "kept: " + n.Hold.Text
	if n.Hold.Saves > 0 {
		text = "would save " + m.perHour(n.Hold.Saves) + "; " + text
	}
	return text
}

// describe says what is known of a node without asking.
func (m *Model) describe(n *overview.Node) []string {
	var about []string
	for _, text := range []string{n.InstanceType, n.Zone, n.CapacityType, n.Arch} {
		if text != "" {
			about = append(about, text)
		}
	}
	if n.Price > 0 {
		about = append(about, m.perHour(n.Price))
	}
	if n.Pool != "" {
		about = append(about, "NodePool "+n.Pool)
	}
	if n.Claim != "" {
		about = append(about, "NodeClaim "+n.Claim)
	}
	out := []string{strings.Join(about, ", ")}
	state := m.state(n) + ", " + m.ago(n.Created) + " old"
	if v := m.moved[n.Name]; v != nil || n.State != overview.Ready {
		state += "; " + m.why(n) // the answer says the rest
	}
	return append(out, state, m.amounts(n))
}

// amounts says how much of a node is asked for.
func (m *Model) amounts(n *overview.Node) string {
	memory := bytes(n.Memory.Used) + " of " + bytes(n.Memory.Has)
	if of := strings.TrimSuffix(bytes(n.Memory.Used), " GiB"); strings.HasSuffix(memory, " GiB") {
		memory = of + " of " + bytes(n.Memory.Has)
	}
	text := "cpu " + cores(n.CPU.Used) + " of " + cores(n.CPU.Has) + ", memory " + memory
	if n.GPU.Has > 0 {
		text += fmt.Sprintf(", gpu %d of %d", n.GPU.Used, n.GPU.Has)
	}
	text += fmt.Sprintf(", pods %d of %d", n.Running(), n.Pods.Has)
	if n.Expected > 0 {
		text += fmt.Sprintf(", room kept for %d", n.Expected)
	}
	return text
}

// poolText says what is known of a NodePool.
func (m *Model) poolText(name string) []string {
	for i := range m.doc.Pools {
		p := &m.doc.Pools[i]
		if p.Name != name {
			continue
		}
		out := []string{"NodePool " + name + ": " + counted(p.Nodes, "node") + ", " + m.perHour(p.Price)}
		if p.NotReady != "" {
			return append(out, "it can't launch nodes: "+p.NotReady)
		}
		var limits []string
		for _, resource := range []string{"cpu", "memory", "nodes"} {
			if limit, ok := p.Limits[resource]; ok {
				limits = append(limits, fmt.Sprintf("%.0f%% of its limit of %s", 100*part(p.Used[resource], limit), resource))
			}
		}
		if len(limits) > 0 {
			out = append(out, strings.Join(limits, ", "))
		}
		return out
	}
	return []string{"these nodes belong to no NodePool: Kerf did not launch them"}
}
