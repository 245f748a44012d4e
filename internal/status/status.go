// Package status is the state of a cluster on one screen: what is wrong, what it costs, what waits, what blocks savings, what is
// under way. kerf status writes it.
package status

import (
	"time"

	"github.com/kerf-sh/kerf/internal/controller/overview"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/floor"
)

// Report is the state of a cluster. Amounts of money are millionths of a dollar per hour.
type Report struct {
	Cluster string    `json:"cluster"`
	Kerf    string    `json:"kerf"` // the version that runs
	At      time.Time `json:"at"`
	// Currency is that of all amounts, which are in millionths of it.
	Currency catalog.Currency `json:"currency"`
	// Healthy is false where a problem is bad; warnings leave it true.
	Healthy  bool               `json:"healthy"`
	Problems []overview.Problem `json:"problems"` // the worst first
	Cost     Cost               `json:"cost"`
	Nodes    Nodes              `json:"nodes"`
	Pods     Pods               `json:"pods"`
	Pools    []overview.Pool    `json:"pools"`
	Waiting  []Waiting          `json:"waiting"`
	// Joining is set while instances that run take longer than a minute to join.
	Joining *overview.Unjoined `json:"joining,omitempty"`
	Blocked []overview.Blocked `json:"blocked"` // savings, the largest first
	Moves   []overview.Move    `json:"moves"`   // disruptions, those under way first
	// Held is set while consolidation that moves pods is paused.
	Held *overview.Held `json:"held,omitempty"`
}

// Cost is what the nodes cost that Kerf launched.
type Cost struct {
	Running catalog.MicroUSD `json:"running"`
	// Floor is the least that instances for these pods could cost, proved; Gap is how much more runs. Both are left out where the
	// floor was not looked for, or not found; the gap also where nodes have no known price.
	Floor *catalog.MicroUSD `json:"floor,omitempty"`
	Gap   *catalog.MicroUSD `json:"gap,omitempty"`
	// FloorError says why the floor was not found.
	FloorError string `json:"floorError,omitempty"`
	// Constraints are kinds of constraints that raise the floor, with what each costs.
	Constraints []floor.Constraint `json:"constraints,omitempty"`
	OnDemand    Share              `json:"onDemand"`
	Spot        Share              `json:"spot"`
	Reserved    Share              `json:"reserved"`
	// Dear is the part of Running that nodes cost more than usual which were launched while EC2 was short of cheaper capacity.
	Dear catalog.MicroUSD `json:"dear,omitempty"`
	// Unpriced counts nodes whose price is not known; Running is without them.
	Unpriced int `json:"unpriced,omitempty"`
}

// Share is the part of one capacity type.
type Share struct {
	Nodes int              `json:"nodes"`
	Price catalog.MicroUSD `json:"price"`
}

// Nodes counts nodes.
type Nodes struct {
	Managed int                    `json:"managed"` // that Kerf launched
	Others  int                    `json:"others"`
	ByState map[overview.State]int `json:"byState"` // of Managed
}

// Pods counts pods.
type Pods struct {
	Running int `json:"running"` // DaemonSets' included
	Waiting int `json:"waiting"`
}

// Waiting are pods that wait for the same reason.
type Waiting struct {
	Count    int       `json:"count"`
	Workload string    `json:"workload,omitempty"` // namespace/name, as far as the name of a pod tells
	Pod      string    `json:"pod"`                // one of them
	Since    time.Time `json:"since"`
	Node     string    `json:"node,omitempty"` // where they are to go, the first of Nodes such nodes
	Nodes    int       `json:"nodes,omitempty"`
	Why      string    `json:"why,omitempty"` // they have no place
}

// Of makes a report of an overview that is whole. found may be nil, and failed say why.
func Of(d *overview.Document, found *floor.Floor, failed string) *Report {
	r := &Report{
		Cluster: d.Cluster, Kerf: d.Kerf, At: d.At, Currency: d.Currency, Healthy: true, Problems: d.Problems, Pools: d.Pools, Blocked: d.Blocked, Moves: d.Moves, Held: d.Held, Joining: d.Joining,
		Waiting: []Waiting{}, Nodes: Nodes{ByState: map[overview.State]int{}},
		Cost: Cost{Running: d.Bill.Running, Dear: d.Bill.Dear, Unpriced: d.Bill.Unpriced, FloorError: failed},
	}
	for _, p := range d.Problems {
		r.Healthy = r.Healthy && p.Level != overview.Bad
	}
	for _, n := range d.Nodes {
		r.count(n)
	}
	if found != nil {
		r.Cost.Floor, r.Cost.Constraints = &found.Bound, found.Constraints
		if d.Bill.Unpriced == 0 {
			gap := found.Running - found.Bound
			r.Cost.Gap = &gap
		}
	}
	r.Pods.Running, r.Pods.Waiting = d.Pods()
	for _, w := range d.Waiting {
		line := Waiting{Count: w.Count, Pod: w.Pod, Since: w.Since, Node: w.Node, Nodes: w.Nodes, Why: w.Why}
		if w.Class >= 0 && w.Class < len(d.Classes) {
			line.Workload = d.Classes[w.Class].Namespace + "/" + d.Classes[w.Class].Name
		}
		r.Waiting = append(r.Waiting, line)
	}
	return r
}

func (r *Report) count(n *overview.Node) {
	if n.Claim == "" {
		r.Nodes.Others++
		return
	}
	r.Nodes.Managed++
	r.Nodes.ByState[n.State]++
	share := &r.Cost.OnDemand
	switch n.CapacityType {
	case catalog.Spot:
		share = &r.Cost.Spot
	case catalog.Reserved:
		share = &r.Cost.Reserved
	case "":
		return // it is not launched yet
	}
	share.Nodes++
	share.Price += n.Price
}
