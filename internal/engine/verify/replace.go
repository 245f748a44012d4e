package verify

import (
	"fmt"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
)

// Replace lists what is wrong with the decision as an answer to disrupt.Replace for the cause and the nodes that are due; none
// means that its moves are allowed, that all pods have a place once they are carried out together, and that every node
// that is due goes or has a reason to stay. What it costs does not matter.
func Replace(p *disrupt.Problem, cause disrupt.Cause, due []string, d *disrupt.Decision) []Violation {
	c := newMoveChecker(p, d)
	c.mayGo()
	c.budgets()
	isDue := map[string]bool{}
	for _, name := range due {
		isDue[name] = true
	}
	for i := range d.Moves {
		c.rolls(&d.Moves[i], cause, isDue)
	}
	c.places()
	c.everyDueNodeOnce(isDue)
	c.bill()
	return c.found
}

// rolls checks that the move is about what is due, and what it says about money.
func (c *moveChecker) rolls(m *disrupt.Move, cause disrupt.Cause, isDue map[string]bool) {
	if m.Cause != cause {
		c.report("cause", fmt.Sprint(m.Nodes), "goes for %s, asked was %s", m.Cause, cause)
	}
	old, best, worst := catalog.MicroUSD(0), catalog.MicroUSD(0), catalog.MicroUSD(0)
	for _, name := range m.Nodes {
		if !isDue[name] {
			c.report("due", name, "goes, and is not due")
		}
		if n := c.nodes[name]; n != nil {
			old += c.price(n)
		}
	}
	for i := range m.NewNodes {
		cheapest, dearest, _ := c.priceRange(&m.NewNodes[i])
		best += cheapest
		worst += dearest
	}
	c.sums(m, old, best, worst)
}

func (c *moveChecker) everyDueNodeOnce(isDue map[string]bool) {
	kept := map[string]int{}
	for _, k := range c.d.Kept {
		kept[k.Node]++
		if len(k.Reasons) == 0 {
			c.report("reasons", k.Node, "stays without a reason")
		}
	}
	var managed []*cluster.Node
	for _, n := range c.p.Cluster.Nodes {
		if c.given[n.Name] != nil && !n.Deleting {
			managed = append(managed, n)
		}
	}
	for _, n := range managed {
		want := 0
		if isDue[n.Name] {
			want = 1
		}
		if kept[n.Name]+c.going[n.Name] != want {
			c.report("node", n.Name, "goes %d times, stays %d times, is due: %v", c.going[n.Name], kept[n.Name], isDue[n.Name])
		}
	}
}
