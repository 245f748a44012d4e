package disrupt

import (
	"fmt"
	"strings"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/plan"
)

// Decision is what Decide returns.
type Decision struct {
	Generation uint64 `json:"generation"`
	// Moves are disjoint and feasible together, in any number from the front.
	Moves []Move `json:"moves,omitempty"`
	// Kept are the managed nodes that stay, sorted by name.
	Kept []Kept `json:"kept,omitempty"`
	// Before is what the managed nodes cost per hour, After what they will once all moves are carried out at best.
	Before catalog.MicroUSD `json:"before"`
	After  catalog.MicroUSD `json:"after"`
	// Spare is how much of After is beyond what the pods are worth: what new nodes cost that are filled to the last.
	Spare catalog.MicroUSD `json:"spare,omitempty"`
	// OverBudget is what moving the pods of nodes would save that stay only because the budgets are used up, each by itself.
	OverBudget catalog.MicroUSD `json:"overBudget,omitempty"`
	// Next is the Options.Start of the next decision: past the starts of sets that led nowhere, or where it was if a set
	// was found, which has to be found again to be confirmed; 0 if every start has had its turn.
	Next int `json:"next,omitempty"`
	// Currency of all prices; empty is USD.
	Currency catalog.Currency `json:"currency,omitempty"`
	Stats    Stats            `json:"stats"`
	// Repeated says that it is the last decision, as nothing has changed that could make it another one.
	Repeated bool `json:"-"`
	// At is when it was made; whoever carries decisions out sets it. It is not recorded: the problem has the time.
	At time.Time `json:"-"`
	// Scores are those of the moves that the policy Balanced judged, whether or not they were made. They are measured and not
	// recorded.
	Scores []Score `json:"-"`
}

// Score is how the policy Balanced judged a move for one of the pools that lose nodes.
type Score struct {
	Pool string
	// Value is the share of the pool's bill that is saved, divided by the share of its disruption that is caused.
	Value    float64
	Approved bool
}

// Move lets nodes go, after new ones have come if there are any.
type Move struct {
	Cause Cause `json:"cause"`
	// Nodes that go, sorted.
	Nodes    []string       `json:"nodes"`
	NewNodes []plan.NewNode `json:"newNodes,omitempty"`
	// Placements of pods on nodes that stay.
	Placements []plan.Placement `json:"placements,omitempty"`
	// Declined are preferences for nodes that pods have now and will not have any more, each with what keeping all as it is
	// would cost.
	Declined []plan.Preference `json:"declined,omitempty"`
	// Old is what the nodes cost per hour; Saving is what the move saves at best, Certain what it saves at least.
	Old     catalog.MicroUSD `json:"old"`
	Saving  catalog.MicroUSD `json:"saving"`
	Certain catalog.MicroUSD `json:"certain"`
	// Disruption in millionths of a usual pod's, one for each node included.
	Disruption int64 `json:"disruption"`
	// Wait is for how long the move has to be found before it is to be made, where that is longer than usual.
	Wait time.Duration `json:"wait,omitempty"`
	// Onto is how long it takes at most until badly used nodes that take pods of this move may be the ones to go: their pools'
	// consolidateAfter has not passed. Until then nobody knows whether the move is of any use.
	Onto time.Duration `json:"onto,omitempty"`
	// Stood is for how long its nodes have been found to go. Decide knows nothing of that, so that it is 0 where a decision is replayed.
	Stood time.Duration `json:"stood,omitempty"`
	Why   string        `json:"why"`
}

// Kept is a node that stays.
type Kept struct {
	Node string `json:"node"`
	// Reasons, first the ones that the caller gave.
	Reasons []Reason `json:"reasons"`
	// Saves is what letting it go would save per hour if the reasons were gone; 0 when that is nothing or not known.
	Saves catalog.MicroUSD `json:"saves,omitempty"`
}

// Stats are counts of work of the search that the moves are from, the same in every run of the same problem.
type Stats struct {
	Nodes      int   `json:"nodes"`
	Candidates int   `json:"candidates"`
	Questions  int   `json:"questions"`
	Work       int64 `json:"work"`
	// NotLookedAt is how many candidates the end of the work budget left out.
	NotLookedAt int `json:"notLookedAt,omitempty"`
}

// String is the decision for people.
func (d *Decision) String() string {
	var b strings.Builder
	for i := range d.Moves {
		m := &d.Moves[i]
		verb := "delete"
		if len(m.NewNodes) > 0 {
			verb = "replace"
		}
		fmt.Fprintf(&b, "%s %s: ", verb, strings.Join(m.Nodes, ", "))
		if m.Saving < 0 {
			fmt.Fprintf(&b, "costs %s/h more than %s/h", d.Currency.Amount(-m.Saving), d.Currency.Amount(m.Old))
		} else {
			fmt.Fprintf(&b, "saves %s/h of %s/h", d.Currency.Amount(m.Saving), d.Currency.Amount(m.Old))
		}
		if m.Certain != m.Saving && m.Certain >= 0 {
			fmt.Fprintf(&b, ", %s/h for certain", d.Currency.Amount(m.Certain))
		}
		fmt.Fprintf(&b, "\n  why %s\n", m.Why)
		for j := range m.NewNodes {
			n := &m.NewNodes[j]
			c := n.Types[0]
			fmt.Fprintf(&b, "  new from pool %s at %s/h: %s %s %s", n.Pool, d.Currency.Amount(n.Price), c.Name, c.Zone, c.CapacityType)
			if len(n.Types) > 1 {
				fmt.Fprintf(&b, ", or one of %d others", len(n.Types)-1)
			}
			fmt.Fprintf(&b, ", for pods %s\n", plan.Refs(n.Pods))
		}
		for _, pl := range m.Placements {
			fmt.Fprintf(&b, "  to %s pods %s\n", pl.Node, plan.Refs(pl.Pods))
		}
		for _, w := range m.Declined {
			fmt.Fprintf(&b, "  gives up %s\n", w.Text(d.Currency))
		}
	}
	for _, k := range d.Kept {
		var texts []string
		for _, r := range k.Reasons {
			texts = append(texts, r.Text())
		}
		fmt.Fprintf(&b, "keep %s: %s", k.Node, strings.Join(texts, "; "))
		if k.Saves > 0 {
			fmt.Fprintf(&b, "; letting it go would save %s/h", d.Currency.Amount(k.Saves))
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "%s/h becomes %s/h by %s\n", d.Currency.Amount(d.Before), d.Currency.Amount(d.After), plan.Count(len(d.Moves), "move"))
	return b.String()
}
