// Package disrupt decides which nodes could go, because they are empty, because their pods fit elsewhere, or because
// cheaper new nodes would carry them.
//
// Decide is a pure function: the same Problem gives the same Decision, byte for byte, whatever the order of its parts and
// however many cores work on it. It carries nothing out, knows no clock, and leaves to its caller what only the caller
// can know: which nodes must not be touched now and how many of a pool may go.
package disrupt

import (
	"cmp"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/pack"
)

// Problem is the whole input of a decision. It is immutable: Decide only reads it.
type Problem struct {
	// Cluster holds the nodes with their pods, the pending pods, the pools and their catalogs.
	Cluster *pack.Problem `json:"cluster"`
	// Nodes that Kerf manages. Nodes of the cluster that are not listed stay, and may take pods.
	Nodes []Node `json:"nodes"`
	Pools []Pool `json:"pools"`
	// DeletionCosts are the pods' annotations of that name, by namespace/name; pods without one are left out.
	DeletionCosts map[string]int32 `json:"deletionCosts,omitempty"`
	Options       Options          `json:"options"`

	// asked, set by tests, is called before each question.
	asked func([]*nodeState)
}

// Node is what the caller knows about a node beyond the cluster.
type Node struct {
	// Name of the node in the cluster.
	Name string `json:"name"`
	// Blocks are the reasons why the node must not go now; none makes it a candidate.
	Blocks []Reason `json:"blocks,omitempty"`
	// Soon is how long it is until none of them is left, where nothing but the pool's consolidateAfter blocks it; else 0.
	Soon time.Duration `json:"soon,omitempty"`
	// LifetimeLeft until the node goes anyway, because it expires; 0 when no end is known.
	LifetimeLeft time.Duration `json:"lifetimeLeft,omitempty"`
}

// Policy is a pool's consolidation policy, by its name in the API.
type Policy string

// The policies.
const (
	// WhenEmpty lets only nodes go that no pod needs.
	WhenEmpty Policy = "WhenEmpty"
	// WhenEmptyOrUnderutilized lets nodes go whenever that saves money.
	WhenEmptyOrUnderutilized Policy = "WhenEmptyOrUnderutilized"
	// Balanced demands that a move's share of the pool's bill is at least half of its share of the pool's disruption.
	Balanced Policy = "Balanced"
)

// Cause is why a node goes, by its name in the API's budgets.
type Cause string

// The causes that this package decides about.
const (
	Empty         Cause = "Empty"
	Underutilized Cause = "Underutilized"
	// Drifted nodes differ from what is asked for now, and are replaced whatever that costs.
	Drifted Cause = "Drifted"
)

// Pool is what the caller knows about a pool beyond the cluster.
type Pool struct {
	Name   string `json:"name"`
	Policy Policy `json:"policy"`
	// Static pools keep their number of nodes; none of theirs goes.
	Static bool `json:"static,omitempty"`
	// Allowed is how many nodes of the pool may go now for each cause; a cause that is not there is not limited. A node
	// that goes counts against all causes.
	Allowed map[Cause]int `json:"allowed,omitempty"`
}

// Options are the settings that change a decision. The zero value is the usual behaviour.
type Options struct {
	// SpotToSpot lets spot nodes be replaced by cheaper spot nodes; a single one only when at least MinSpotTypes types are
	// cheaper (0: 15).
	SpotToSpot   bool `json:"spotToSpot,omitempty"`
	MinSpotTypes int  `json:"minSpotTypes,omitempty"`
	// PodPrice is what moving a usual pod is held to cost, and NodePrice what starting a new node is held to cost, once, at
	// least: what it costs itself in the time of Overlap, in which it is paid beside what it replaces, where that is more. A
	// move must earn that back within Horizon (0: a day), or before the first of its nodes would expire.
	PodPrice       catalog.MicroUSD `json:"podPrice,omitempty"`
	NodePrice      catalog.MicroUSD `json:"nodePrice,omitempty"`
	Overlap        time.Duration    `json:"overlap,omitempty"`
	SavingsHorizon time.Duration    `json:"horizon,omitempty"`
	// SmallSavingsWait is the most that a move has to stand where little is to be saved (0: LongestWait; below: none waits).
	SmallSavingsWait time.Duration `json:"smallSavingsWait,omitempty"`
	// Survival is how much of a saving is likely to be left after a time, by what became of savings before; the rest is launched
	// again. Later ones are no more; nil: all of it.
	Survival []Survival `json:"survival,omitempty"`
	// Work limits how much is tried, in units of about one node looked at (0: plenty). What was not looked at when it ended is said.
	Work int64 `json:"work,omitempty"`
	// Start is how many nodes are passed over as the first of a set, in every order in which sets are grown: Decision.Next
	// of the last decision, and 0 once a move was made. Every start comes to its turn so.
	Start int `json:"start,omitempty"`
}

func (o Options) minSpotTypes() int { return cmp.Or(o.MinSpotTypes, 15) }

func (o Options) savingsHorizon() time.Duration { return cmp.Or(o.SavingsHorizon, 24*time.Hour) }

// plenty of work is enough for every node of some ten thousand.
const plenty = 2_000_000_000

func (o Options) work() int64 { return cmp.Or(o.Work, plenty) }

// lifetime is the node's LifetimeLeft as far as it counts: no end within the horizon is as good as none, and how soon
// within it matters only where disruption has a price.
func (o Options) lifetime(n Node) time.Duration {
	switch {
	case n.LifetimeLeft <= 0 || n.LifetimeLeft >= o.savingsHorizon():
		return 0
	case o.PodPrice == 0 && o.NodePrice == 0:
		return 1
	}
	return n.LifetimeLeft
}
