package disrupt

import (
	"slices"
	"time"

	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// turnsFor is how long after it came a new node waits for its turn at most. It has come long before as a rule; a drain that budgets
// hold up may take hours.
const turnsFor = 5 * time.Minute

// turns are the new nodes of commands that take pods one after the other: those that bear the taint of intake.TurnKey ask pods to go
// elsewhere as long as there is room. The scheduler spreads pods over all nodes with room, so that new nodes that a plan
// fills up would each be filled in part, and what is left would find no room. Pods wait on their old nodes for the turn of the
// new one that is for them (controller/terminate): then it is the only one with room that asks for nothing.
//
// Whose turn it is follows from the pods that are still on their old nodes, so that a new leader goes on with it: one that
// does not know where pods are to go ends all waiting.
type turns struct {
	existing bool // pods still leave for nodes that were there before
	coming   []turn
}

// turn is a new node with pods that have not left their old node.
type turn struct {
	command string
	number  int
}

func (c *Candidates) turns(nodes []*cluster.Node) turns {
	var out turns
	for _, n := range nodes {
		if !slices.ContainsFunc(n.Pods, func(p *cluster.Pod) bool { return p.Node != "" && p.Node != n.Name }) {
			continue
		}
		if t, ok := c.turnOf(n); ok {
			out.coming = append(out.coming, t)
		} else {
			out.existing = true
		}
	}
	return out
}

// turnOf is the number of a new node in its command, whether its turn has come or not.
func (c *Candidates) turnOf(n *cluster.Node) (turn, bool) {
	claim := c.State.Claim(n.Claim)
	if claim == nil {
		return turn{}, false
	}
	number, ok := claim.Annotations[intake.TurnKey]
	return turn{claim.Annotations[index.CommandAnnotation], intake.Turn(number)}, ok
}

// come reports whether the turn of a node has come.
func (c *Candidates) come(n *cluster.Node, others turns, now time.Time) bool {
	mine, ok := c.turnOf(n)
	if !ok || now.Sub(n.CreatedAt) >= turnsFor {
		return true
	}
	return !others.existing && !slices.ContainsFunc(others.coming, func(t turn) bool { return t.command == mine.command && t.number < mine.number })
}
