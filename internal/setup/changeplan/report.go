package changeplan

import (
	"time"

	"github.com/kerf-sh/kerf/internal/controller/drift"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
)

// Report is what a change would do. All prices are in millionths of Currency, per hour unless said otherwise, all times in seconds.
type Report struct {
	Cluster string    `json:"cluster"`
	At      time.Time `json:"at"`
	Changes []Change  `json:"changes,omitempty"`
	// Nodes are those of NodePools: first the ones that roll in the order of their turns, then those that would and can't,
	// then the rest.
	Nodes []Node `json:"nodes,omitempty"`
	Pools []Pool `json:"pools,omitempty"`
	Bill  Bill   `json:"bill"`
	// Currency of all prices, which are in millionths of it.
	Currency catalog.Currency `json:"currency"`
	// Gaps are what could not be found out, by name, with what follows.
	Gaps []string `json:"gaps,omitempty"`
}

// Node is what happens to a node.
type Node struct {
	Name         string           `json:"name"`
	Claim        string           `json:"nodeClaim"`
	Pool         string           `json:"nodePool"`
	InstanceType string           `json:"instanceType,omitempty"`
	Zone         string           `json:"zone,omitempty"`
	CapacityType string           `json:"capacityType,omitempty"`
	Price        catalog.MicroUSD `json:"price,omitempty"` // 0: not known
	// Going says that it goes without the change: somebody or something has begun to delete it.
	Going bool `json:"going,omitempty"`
	// Rolls says that the node differs from what is asked for after the change. Already says that it does so before, too.
	Rolls   bool               `json:"rolls"`
	Already bool               `json:"already,omitempty"`
	Causes  []drift.Difference `json:"causes,omitempty"`
	// Blocks are why it stays for now although it rolls, Stays why it does not roll.
	Blocks []string `json:"blocks,omitempty"`
	Stays  string   `json:"stays,omitempty"`
	// Turn is when it is replaced, nil if it is blocked or its turn does not come.
	Turn *Turn `json:"turn,omitempty"`
	// With are nodes that are replaced together with it, New the instances that are launched, To the nodes that take pods.
	With []string      `json:"with,omitempty"`
	New  []NewInstance `json:"new,omitempty"`
	To   []Target      `json:"to,omitempty"`
}

// Turn is a time from now on, in seconds.
type Turn struct {
	Start int64 `json:"start"`
	End   int64 `json:"end"` // about
}

// NewInstance is a new instance, as the engine would choose it at present prices.
type NewInstance struct {
	Pool         string           `json:"nodePool"`
	InstanceType string           `json:"instanceType"`
	Zone         string           `json:"zone"`
	CapacityType string           `json:"capacityType"`
	Price        catalog.MicroUSD `json:"price"`
	Others       int              `json:"others,omitempty"` // types that would do as well
	Pods         int              `json:"pods"`
}

// Target is a node that takes pods.
type Target struct {
	Node string `json:"node"`
	Pods int    `json:"pods"`
}

// Pool is how a pool rolls.
type Pool struct {
	Name    string `json:"name"`
	Nodes   int    `json:"nodes"`
	Roll    int    `json:"roll"`
	Blocked int    `json:"blocked,omitempty"`
	// Never is how many have no turn within the time that is looked ahead.
	Never int `json:"never,omitempty"`
	// Budget is what the disruption budgets allow now, in words.
	Budget string `json:"budget"`
	// Launch is how long a new node takes until it is ready, LaunchFrom what that is known from.
	Launch     int64  `json:"launch"`
	LaunchFrom string `json:"launchFrom"`
	// Drain is how long pods of the nodes may take to end.
	Drain int64 `json:"drain"`
	// InstanceEnd is how long EC2 is held to take to end an instance.
	InstanceEnd int64 `json:"instanceEnd"`
	// Takes is when the last node is gone, about.
	Takes int64 `json:"takes"`
	// NotReady is why nothing can be launched from the pool after the change.
	NotReady string `json:"notReady,omitempty"`
}

// Bill is what all nodes of NodePools cost.
type Bill struct {
	Now   catalog.MicroUSD `json:"now"`
	After catalog.MicroUSD `json:"after"`
	// Surge is the most that is paid beyond the present bill at a time, while old and new nodes run side by side; Extra what
	// that comes to in all, in micro-USD.
	Surge catalog.MicroUSD `json:"surge"`
	Extra catalog.MicroUSD `json:"extra"`
	// Unknown is how many nodes have a price that is not known; they are left out.
	Unknown int `json:"unknown,omitempty"`
	// Going is how many nodes go without the change. They are left out, and so is what may be launched for their pods: neither
	// is an effect of the change.
	Going int `json:"going,omitempty"`
}

// Rolling counts the nodes that would be replaced, those that are blocked included.
func (r *Report) Rolling() int {
	n := 0
	for i := range r.Nodes {
		if r.Nodes[i].Rolls {
			n++
		}
	}
	return n
}

// Trouble says that the change can't be carried through: an object that could not be used, or nodes that stay.
func (r *Report) Trouble() bool {
	for i := range r.Changes {
		if len(r.Changes[i].Problems) > 0 {
			return true
		}
	}
	for i := range r.Pools {
		if r.Pools[i].Blocked+r.Pools[i].Never > 0 || r.Pools[i].NotReady != "" {
			return true
		}
	}
	return false
}
