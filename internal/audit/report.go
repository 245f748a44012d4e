package audit

import (
	"math"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/report"
)

// Report is what an audit finds. All amounts are in the currency of the region's price list, dollars but in China; those that end
// in PerHour are per hour.
type Report struct {
	Cluster Cluster `json:"cluster"`
	Prices  Prices  `json:"prices"`
	Bill    Bill    `json:"bill"`
	Floor   Floor   `json:"floor"`
	// Caveat says in a few words of what bill and floor are not; empty: they are of all that was read.
	Caveat string `json:"caveat,omitempty"`
	// Difference is where the bill is above the floor: the parts add up to it, the largest first.
	Difference []Part `json:"difference,omitempty"`
	// Asked is how much lower the floor would be if pods and pools asked for less. Each part counts on top of those before it.
	Asked []Part `json:"asked,omitempty"`
	// Workloads are the hundred that cost most, DaemonSets among them; those first that ask for most above what they use. Rest is
	// what the bill is besides.
	Workloads []Workload `json:"workloads,omitempty"`
	Rest      Rest       `json:"besidesWorkloads"`
	// First are the moves that Kerf would make, in its order.
	First *First `json:"first,omitempty"`
	// Untouched are nodes that Kerf would keep as they are, by why.
	Untouched []Untouched `json:"untouched,omitempty"`
	Risks     []Risk      `json:"risks,omitempty"`
	// RisksUnknown says why risks could not be looked for, or not all of them; empty: they were.
	RisksUnknown string `json:"risksNotKnown,omitempty"`
	// Unknown says what could not be known, and what follows from it.
	Unknown []string `json:"unknown,omitempty"`
}

// Cluster is what was audited.
type Cluster struct {
	// Name is the cluster's, or that of the context; empty where it is not known, or names are hashed.
	Name    string    `json:"name,omitempty"`
	TakenAt time.Time `json:"takenAt"`
	// TimeOf says what the time is of where the snapshot has none, such as the file.
	TimeOf            string `json:"timeOf,omitempty"`
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`
	Region            string `json:"region"`
	Anonymized        bool   `json:"anonymized,omitempty"`
	// Nodes are those of EC2, with instances of NodeClaims that have no node yet. Fargate counts nodes of Fargate and Elsewhere those of no AWS: neither is in any amount.
	Nodes     int `json:"nodes"`
	Fargate   int `json:"fargateNodes,omitempty"`
	Elsewhere int `json:"nodesElsewhere,omitempty"`
	// Pods are those that run on the nodes of EC2, daemons among them; Pending wait for a node.
	Pods    int `json:"pods"`
	Daemons int `json:"daemonPods"`
	Pending int `json:"pendingPods"`
	// Scaled is what launches the nodes, by the objects that were found: karpenter, cluster-autoscaler, node groups.
	Scaled string `json:"scaledBy"`
}

// Prices say what the amounts stand on.
type Prices struct {
	Source   string `json:"source"`
	Currency string `json:"currency"`
	OnDemand string `json:"onDemand"`
	// Spot says on what the spot prices rest that the bill, the plan and the moves use, and of which days they are.
	Spot string `json:"spot"`
	// SpotOldest and SpotNewest are the days of those of them that are more than four weeks older than the audit; Warning says so.
	SpotOldest string `json:"spotOldest,omitempty"`
	SpotNewest string `json:"spotNewest,omitempty"`
	Warning    string `json:"warning,omitempty"`
	// Overrides is how many rules of a price file were used.
	Overrides int `json:"overrides,omitempty"`
	// Unmatched are the rules of the price file that match no instance type of the region, by their lines.
	Unmatched []string `json:"unmatchedRules,omitempty"`
}

// Bill is what the instances cost. Where Known is false, no node with a known price could be read and all of it is zero.
type Bill struct {
	Known    bool    `json:"known"`
	PerHour  float64 `json:"perHour"`
	PerMonth float64 `json:"perMonth"` // of 730 hours
	// The same amount in three ways, the largest first.
	CapacityTypes []Share `json:"capacityTypes,omitempty"`
	Groups        []Share `json:"groups,omitempty"`
	Families      []Share `json:"families,omitempty"`
	// Unpriced are nodes without a known price; they count as nothing.
	Unpriced []string `json:"unpriced,omitempty"`
	// Windows counts the nodes that run Windows: they stand in the bill at the price of Linux, which is less than AWS charges.
	Windows int `json:"windowsAtLinuxPrice,omitempty"`
}

// Share is a part of the bill.
type Share struct {
	Name    string  `json:"name"`
	Nodes   int     `json:"nodes"`
	PerHour float64 `json:"perHour"`
}

// Floor is the least that the same pods could cost. Where Known is false, all of it is zero.
type Floor struct {
	Known bool `json:"known"`
	// Why it is not known.
	Why      string  `json:"whyNotKnown,omitempty"`
	PerHour  float64 `json:"perHour"`
	PerMonth float64 `json:"perMonth"`
	// Percent is how far the bill is above the floor, in percent of the floor; nil where the floor is nothing. OfBill is the
	// difference in percent of the bill.
	Percent *float64 `json:"percentAbove,omitempty"`
	OfBill  float64  `json:"differencePercentOfBill"`
	// Plan is the price of a plan that Kerf has found for all pods on new nodes, and how many nodes that has: between it and the
	// floor nobody knows what is possible.
	Plan      float64 `json:"planPerHour"`
	PlanNodes int     `json:"planNodes"`
	// Kept is the part of the floor that is of nodes which were not considered.
	Kept float64 `json:"keptPerHour,omitempty"`
	// Pods that were placed anew, of AllPods on nodes of EC2 that are no daemons; WithoutPlace those that no pool could take.
	Pods         int `json:"pods"`
	AllPods      int `json:"allPods"`
	WithoutPlace int `json:"podsWithoutPlace,omitempty"`
	// Assumed are the pools that were assumed for nodes which no NodePool governs.
	Assumed []AssumedPool `json:"assumedPools,omitempty"`
}

// AssumedPool is a pool that was assumed for nodes which no NodePool governs.
type AssumedPool struct {
	Groups        []string          `json:"groups"` // node groups that it stands for
	Nodes         int               `json:"nodes"`
	Categories    []string          `json:"categories"`
	MostCPU       int               `json:"mostVCPUs"`
	Architectures []string          `json:"architectures"`
	CapacityTypes []string          `json:"capacityTypes"`
	Zones         []string          `json:"zones"`
	Labels        map[string]string `json:"labels,omitempty"`
	Taints        []string          `json:"taints,omitempty"`
}

// Part is one reason why the bill is as high as it is.
type Part struct {
	Code    string  `json:"code"`
	Title   string  `json:"title"`
	PerHour float64 `json:"perHour"`
	// Text says what it is, Remedy what to do.
	Text   string `json:"text"`
	Remedy string `json:"remedy,omitempty"`
	// Objects that it is about, those that cost most first, at most twenty; Count is how many there are.
	Objects []Object `json:"objects,omitempty"`
	Count   int      `json:"count,omitempty"`
}

// Object is a Kubernetes object with what it costs in its place; PerHour is 0 where that is not known for one alone.
type Object struct {
	Kind    string  `json:"kind"`
	Name    string  `json:"name"` // namespace/name where it has one
	PerHour float64 `json:"perHour,omitempty"`
	Detail  string  `json:"detail,omitempty"`
}

// Workload is what the pods of one owner ask for and use. The amounts are its part of its nodes' prices.
type Workload struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	Pods int    `json:"pods"`
	// Amounts of all pods: cores and GiB. Used is of the moment of the snapshot; nil where it is not known.
	CPU           float64  `json:"cpuAsked"`
	CPUUsed       *float64 `json:"cpuUsed,omitempty"`
	Memory        float64  `json:"memoryGiBAsked"`
	MemoryUsed    *float64 `json:"memoryGiBUsed,omitempty"`
	PerHour       float64  `json:"perHour"`
	UnusedPerHour *float64 `json:"unusedPerHour,omitempty"`
}

// Rest is what the bill is besides the workloads that are told: they and it add up to the bill.
type Rest struct {
	Others        int     `json:"otherWorkloads,omitempty"`
	OthersPerHour float64 `json:"otherWorkloadsPerHour,omitempty"`
	// Room that nobody asks for.
	Room float64 `json:"roomPerHour"`
}

// First is what Kerf would do first.
type First struct {
	// Moves in Kerf's order: each is of use whether or not the next are made. More counts those that are not listed.
	Moves []Move `json:"moves,omitempty"`
	More  int    `json:"more,omitempty"`
	// PerHour is what all of them save together.
	PerHour float64 `json:"perHour"`
	// NotLookedAt is how many nodes the search did not come to.
	NotLookedAt int `json:"notLookedAt,omitempty"`
	// Condition is what has to be so before it does: a migration, say.
	Condition string `json:"condition,omitempty"`
	// Rest says why the moves leave the cluster dearer than the plan for all pods on new nodes, where they do.
	Rest string `json:"beyondMoves,omitempty"`
}

// Move lets nodes go.
type Move struct {
	Nodes   []string `json:"nodes"`
	Pods    int      `json:"pods"` // that move
	New     []string `json:"new,omitempty"`
	PerHour float64  `json:"perHour"`
	Text    string   `json:"text"`
}

// Untouched are nodes that Kerf would keep for one reason.
type Untouched struct {
	Reason  string   `json:"reason"`
	Count   int      `json:"count"`
	PerHour float64  `json:"perHour"`         // what they cost
	Nodes   []string `json:"nodes,omitempty"` // twenty at most
}

// Level is how bad a risk is.
type Level string

// The levels.
const (
	High Level = "high"
	Low  Level = "low"
)

// Risk is something that may cost pods their place, or makes an amount of the report uncertain.
type Risk struct {
	Code    string   `json:"code"`
	Level   Level    `json:"level"`
	Title   string   `json:"title"`
	Text    string   `json:"text"`
	Remedy  string   `json:"remedy,omitempty"`
	Objects []Object `json:"objects,omitempty"`
	Count   int      `json:"count"`
}

// dollars is an amount in whole units of the currency.
func dollars(m catalog.MicroUSD) float64 { return float64(m) / 1e6 }

// monthly is an amount per hour over a month, to the cent.
func monthly(m catalog.MicroUSD) float64 {
	return math.Round(dollars(m)*report.HoursPerMonth*100) / 100
}

// mostObjects is how many objects are named of each part and risk.
const mostObjects = 20

// limited is the first of the objects, and how many there are.
func limited(objects []Object) ([]Object, int) {
	return objects[:min(len(objects), mostObjects)], len(objects)
}
