// Package disrupt takes nodes away, so that their pods go elsewhere: because they are empty, because other instances carry
// the pods for less, or because they have drifted from what they should be.
//
// The Loop decides on the newest snapshot, about one cause after the other. What goes is a Command. The Queue carries any
// number of commands out side by side, and writes what it has begun on the objects themselves.
package disrupt

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/plan"
)

// Command is the decision to let nodes go, with all that has to be there before.
type Command struct {
	// ID is what log lines, NodeClaims and records name it by; Queue.Start makes one where it is empty.
	ID    string
	Cause karpv1.DisruptionReason
	// Nodes that go. Those of a command go together: when one of them has to stay, all do, unless they are Empty.
	Nodes []Going
	// NewNodes to launch before, and Placements of pods on nodes that stay; Pools are those of the problem that was decided.
	NewNodes   []plan.NewNode
	Placements []plan.Placement
	Pools      []*cluster.Pool
	// Why is one sentence on what decided.
	Why string
	// Saving per hour at best; 0 when money is not the reason.
	Saving catalog.MicroUSD
	// Currency of the saving; empty is USD.
	Currency catalog.Currency
	// Hold is for how long the new nodes are held so that the command pays back; 0 when money is not the reason.
	Hold time.Duration
	// Filled are the claims of nodes that are kept and held because pods are moved to them.
	Filled []string
	// Policy is the consolidation policy that decided; empty when it is not consolidation.
	Policy karpv1.ConsolidationPolicy
}

// Going is a node that goes.
type Going struct {
	Node, Claim, Pool, InstanceType, CapacityType string
}

// GoingNode is a node of a snapshot that goes.
func GoingNode(n *cluster.Node) Going {
	return Going{Node: n.Name, Claim: n.Claim, Pool: n.Pool, InstanceType: n.InstanceType, CapacityType: n.CapacityType}
}

// decision is what upstream's metrics call what a command does.
func (c *Command) decision() string {
	if len(c.NewNodes) > 0 {
		return "replace"
	}
	return "delete"
}

// kind is what upstream's metrics call the way in which it was found (consolidation_type); empty when it is not consolidation.
func (c *Command) kind() string {
	switch {
	case c.Cause == karpv1.DisruptionReasonEmpty:
		return "empty"
	case c.Cause != karpv1.DisruptionReasonUnderutilized:
		return ""
	case len(c.Nodes) > 1:
		return "multi"
	}
	return "single"
}

// String is the command in one line: how many nodes go, which, and what comes for them.
func (c *Command) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s %s", c.Cause, c.decision(), plan.Count(len(c.Nodes), "node"))
	for i, g := range c.Nodes {
		if i == 5 {
			fmt.Fprintf(&b, " and %d others", len(c.Nodes)-i)
			break
		}
		fmt.Fprintf(&b, " %s (%s %s)", g.Node, cmp.Or(g.InstanceType, "unknown type"), cmp.Or(g.CapacityType, "unknown capacity type"))
	}
	for i := range c.NewNodes {
		first := &c.NewNodes[i].Types[0]
		fmt.Fprintf(&b, ", by %s %s", first.Name, first.CapacityType)
	}
	if c.Saving > 0 {
		fmt.Fprintf(&b, ", saves %s/h", c.Currency.Amount(c.Saving))
	}
	return b.String()
}
