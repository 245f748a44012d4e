package overview

import (
	"slices"
	"strings"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/disrupt/confirmation"
	"github.com/kerf-sh/kerf/internal/engine/plan"
)

// movesMost is how many moves are served.
const movesMost = 100

// moves are those under way, and those that the last decision found.
func (o *Overview) moves() []Move {
	out, d := []Move{}, o.seen.decision
	busy := map[string]bool{}
	if o.from.UnderWay != nil {
		for _, c := range o.from.UnderWay() {
			m := Move{Cause: string(c.Cause), Begun: true, Saving: c.Saving, Why: c.Why}
			for _, n := range c.Nodes {
				name := n.Node
				if name == "" {
					name = n.Claim
				}
				busy[name] = true
				m.Nodes = append(m.Nodes, name)
			}
			m.with(c.NewNodes, c.Placements)
			out = append(out, m)
		}
	}
	var taken []string
	for _, i := range o.seen.interrupted {
		if k := o.nodes[i.Node]; k != nil && (k.from.Deleting || k.from.Leaving) && !busy[i.Node] && !busy[i.Claim] {
			busy[i.Node] = true
			taken = append(taken, i.Node)
		}
	}
	if len(taken) > 0 {
		out = append(out, Move{Cause: "Interruption", Begun: true, Nodes: taken, Why: "AWS takes them back or works on them; their pods move first"})
	}
	if gone := o.going(busy); len(gone) > 0 {
		out = append(out, Move{Cause: "Draining", Begun: true, Nodes: gone, Why: o.drains(gone)})
	}
	if d == nil {
		return out
	}
	for i := range d.Moves {
		found := &d.Moves[i]
		if len(out) >= movesMost || slices.ContainsFunc(found.Nodes, func(n string) bool { return busy[n] }) {
			continue
		}
		m := Move{Cause: string(found.Cause), Nodes: found.Nodes, Saving: found.Saving, Why: found.Why}
		m.with(found.NewNodes, found.Placements)
		m.waits(found, d.At)
		out = append(out, m)
	}
	return out
}

// waits says when a move begins that was found at a time, and what it waits for.
func (m *Move) waits(found *disrupt.Move, at time.Time) {
	if at.IsZero() {
		return
	}
	left := max(confirmation.Moment, found.Wait) - found.Stood
	if found.Wait > confirmation.Moment {
		m.Waits = "a saving this small must last " + found.Wait.Round(time.Second).String() + " first"
	}
	if settled := found.Onto + confirmation.Moment; found.Onto > 0 && settled > left {
		left = settled
		m.Waits = "by then it is known whether a node that its pods go to is removed itself"
	}
	m.Begins = at.Add(max(0, left)).UTC().Truncate(time.Second)
}

// drains says how far the drains of nodes are: which pods they wait for that may not be evicted.
func (o *Overview) drains(nodes []string) string {
	var stalls []string
	if o.from.Stalls != nil {
		for _, s := range o.from.Stalls() {
			if slices.Contains(nodes, s.Node) && len(stalls) < namedNodes {
				stalls = append(stalls, s.Node+": "+strings.TrimSuffix(s.Text, "."))
			}
		}
	}
	if len(stalls) == 0 {
		return "their pods are being evicted, or they wait for that"
	}
	return strings.Join(stalls, "\n")
}

// going are the nodes on their way out that no command is about: it is over once they are deleted, and other loops have none.
func (o *Overview) going(busy map[string]bool) (out []string) {
	for _, k := range o.seen.going {
		if n := k.from; !busy[n.Name] && !busy[n.Claim] {
			busy[n.Name] = true
			out = append(out, n.Name)
		}
	}
	return out
}

func (m *Move) with(launched []plan.NewNode, placed []plan.Placement) {
	for i := range launched {
		n := &launched[i]
		m.Pods += len(n.Pods)
		if len(n.Types) > 0 {
			m.New = append(m.New, strings.Join([]string{n.Types[0].Name, n.Types[0].Zone, n.Types[0].CapacityType}, " "))
		}
	}
	for i := range placed {
		m.Pods += len(placed[i].Pods)
	}
}
