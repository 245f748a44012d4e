// Package plan holds the outcome of a decision as a value: which pods go where, which nodes to launch, and for every
// pod that found no place, why. A plan prints, compares and serialises; the same plan gives the same bytes.
package plan

import (
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// Plan is what pack.Solve returns.
type Plan struct {
	// Generation of the snapshot that the problem was made from.
	Generation uint64 `json:"generation"`
	// NewNodes to launch, in the order in which they were opened.
	NewNodes []NewNode `json:"newNodes,omitempty"`
	// Placements of pods on nodes that exist or are in flight, sorted by node.
	Placements []Placement `json:"placements,omitempty"`
	// Unplaced classes, sorted by class ID.
	Unplaced []Unplaced `json:"unplaced,omitempty"`
	// Declined are preferences of placed pods that cost more than they may, sorted by class and kind.
	Declined []Preference `json:"declined,omitempty"`
	// Price is the sum of the new nodes' prices, per hour.
	Price catalog.MicroUSD `json:"price"`
	// Currency of all prices; empty is USD.
	Currency catalog.Currency `json:"currency,omitempty"`
	Stats    Stats            `json:"stats"`
}

// NewNode is a node to launch, with the choice that is left to the launch.
type NewNode struct {
	Pool string `json:"pool"`
	// Types that can carry the pods, cheapest first: at the price of its cheapest available offering that the
	// requirements allow.
	Types []TypeChoice `json:"types"`
	// Requirements of the node: the pool's and its pods' together, narrowed to the domains that topology chose. They do
	// not list instance types; Types does.
	Requirements []requirement.Term `json:"requirements,omitempty"`
	// Requests is the sum of the pods' requests and of the least daemon overhead among Types.
	Requests res.List         `json:"requests"`
	Pods     []cluster.PodRef `json:"pods"`
	// Price per hour of the first of Types.
	Price catalog.MicroUSD `json:"price"`
	// Usual is what nodes for its pods cost when EC2 is short of nothing; 0 where EC2 is not short, or that is not known. It is for
	// whoever looks at costs in this process.
	Usual catalog.MicroUSD `json:"-"`
	// Why is one sentence on what decided the shape.
	Why string `json:"why,omitempty"`
}

// LaunchTerms are the requirements of the node on where it is launched.
func (n *NewNode) LaunchTerms() []requirement.Term {
	var out []requirement.Term
	for _, t := range n.Requirements {
		if t.Key == requirement.Zone || t.Key == requirement.ZoneID || t.Key == requirement.CapacityType {
			t.MinValues = 0
			out = append(out, t)
		}
	}
	return out
}

// TypeChoice is an instance type with the cheapest price at which the launch could get it.
type TypeChoice struct {
	Name         string           `json:"name"`
	Price        catalog.MicroUSD `json:"price"`
	Zone         string           `json:"zone"`
	CapacityType string           `json:"capacityType"`
}

// Placement puts pods on a node that exists or is in flight.
type Placement struct {
	Node string           `json:"node"`
	Pods []cluster.PodRef `json:"pods"`
}

// Unplaced tells why the pods of a class found no place.
type Unplaced struct {
	ClassID string           `json:"classID"`
	Pods    []cluster.PodRef `json:"pods"`
	// Reasons, one per pool in weight order, and at most one for the existing nodes (Pool empty).
	Reasons []Reason `json:"reasons"`
}

// Stats are counts of work, the same in every run of the same problem.
type Stats struct {
	Classes        int `json:"classes"`
	Pods           int `json:"pods"`
	NodesTried     int `json:"nodesTried"`
	TypesEvaluated int `json:"typesEvaluated"`
	// Work is what improving the first plan took, in comparisons of a pod with a node. Unimproved is how many nodes
	// belong to pools for which the work was used up before improving came to its end.
	Work       int64 `json:"work,omitempty"`
	Unimproved int   `json:"unimproved,omitempty"`
}
