// Package overview is the cluster as a person looks at it: nodes and what is on them, what they cost and could cost, what
// waits, what is under way, what went wrong. The controller serves it on its metrics port; kerf ui, kerf top and kerf status read it.
//
// A reader names the version that it has and gets what has changed since. Nodes are compared by their pointer in the snapshot,
// so that a reader who asks every second costs the controller little however large the cluster is.
package overview

import (
	"fmt"
	"time"

	"github.com/kerf-sh/kerf/internal/controller/decisions"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
)

// Path is where a controller serves the overview. With ?since=VERSION it serves what has changed since.
const Path = "/debug/overview"

// Document is the overview, or what has changed of it.
type Document struct {
	Kerf    string    `json:"kerf"` // the version that runs
	Cluster string    `json:"cluster"`
	Region  string    `json:"region,omitempty"`
	Account string    `json:"account,omitempty"` // of AWS; empty where the controller's credentials do not say it
	At      time.Time `json:"at"`
	// Currency is that of all amounts, which are in millionths of it.
	Currency catalog.Currency `json:"currency"`
	// Version is to be named in the next request. It is good for one process: another answers with everything.
	Version string `json:"version"`
	// Full is set where Nodes, Classes, History and Events are all there are. Otherwise they are those that are new or have changed,
	// and Gone are the names of nodes that are no more. Blocked is null where it is the same as before. All other fields are complete.
	Full    bool     `json:"full"`
	Nodes   []*Node  `json:"nodes"`
	Gone    []string `json:"gone,omitempty"`
	Classes []*Class `json:"classes,omitempty"`
	Pools   []Pool   `json:"pools"`

	// Problems are what is wrong, the worst first; empty where nothing is.
	Problems []Problem `json:"problems"`
	// Over are the last problems that ended, the last to end first, as far as somebody looked while they lasted.
	Over []Over `json:"over,omitempty"`

	Bill    Bill    `json:"bill"`
	History []Point `json:"history,omitempty"` // oldest first
	// Since is when this replica started: the history is its own, and what was before is not in it.
	Since time.Time `json:"since"`

	// Interruptions are instances that AWS takes back or works on, the soonest first.
	Interruptions []Interruption `json:"interruptions,omitempty"`

	Waiting []Waiting `json:"waiting"`
	// Joining is set while instances that run take twice as long as usual to join, or a minute where that is not known.
	Joining *Unjoined `json:"joining,omitempty"`
	// WaitingMore is how many more pods wait than Waiting lists.
	WaitingMore int       `json:"waitingMore,omitempty"`
	Blocked     []Blocked `json:"blocked"`
	Moves       []Move    `json:"moves"`
	// Held is set while consolidation that moves pods is held because plans did not come true.
	Held      *Held               `json:"held,omitempty"`
	Stalls    []Stall             `json:"stalls,omitempty"`
	Closures  []Closure           `json:"closures"`
	Services  []Service           `json:"services"`
	Queue     *Queue              `json:"queue,omitempty"` // nil where none is set
	Troubles  []Trouble           `json:"troubles"`
	Events    []Event             `json:"events"`    // the newest first
	Decisions []decisions.Summary `json:"decisions"` // the newest first

	decides time.Time // since when this process decides; the zero time before
}

// State is where a node stands on its way.
type State string

// The states, in their order.
const (
	Launching State = "launching" // no instance yet
	Joining   State = "joining"   // an instance, no node yet
	Starting  State = "starting"  // a node that can't take pods yet
	Ready     State = "ready"
	NotReady  State = "not ready"
	Leaving   State = "leaving" // it goes once what its pods need elsewhere is there
	Draining  State = "draining"
)

// Node is a node or an instance that is to become one.
type Node struct {
	Name         string           `json:"name"`
	Claim        string           `json:"claim,omitempty"` // empty where Kerf did not launch it
	Pool         string           `json:"pool,omitempty"`
	InstanceType string           `json:"type,omitempty"`
	Zone         string           `json:"zone,omitempty"`
	CapacityType string           `json:"capacityType,omitempty"`
	Arch         string           `json:"arch,omitempty"`
	State        State            `json:"state"`
	Created      time.Time        `json:"created"`
	Price        catalog.MicroUSD `json:"price"` // per hour; 0 where it is not known
	CPU          Amount           `json:"cpu"`   // thousandths of a core
	Memory       Amount           `json:"memory"`
	GPU          Amount           `json:"gpu,omitzero"`
	Pods         Amount           `json:"pods"`
	// Expected is how many of Pods are not on it: room is kept for them until they wait no longer, or leave the node where they run.
	Expected int `json:"expected,omitempty"`
	// Carries is what it carries besides daemons: pairs of the number of a class and how many pods of it.
	Carries [][2]int `json:"carries,omitempty"`
	// Hold is what keeps it; nil where it is not known, or nothing does.
	Hold *Hold `json:"hold,omitempty"`
}

// Amount is what a node has of a resource, and what is asked for.
type Amount struct {
	Has     int64 `json:"has"`
	Used    int64 `json:"used"`
	Daemons int64 `json:"daemons,omitempty"` // the part of Used that daemons ask for
}

// Hold is what keeps a node.
type Hold struct {
	Code string `json:"code"` // of the first reason; see docs/reference/reasons.md
	Text string `json:"text"`
	// Pod that the reason names, as namespace/name.
	Pod string `json:"pod,omitempty"`
	// Saves is what removing the node would save per hour if nothing kept it.
	Saves catalog.MicroUSD `json:"saves,omitempty"`
}

// Class stands for pods that a scheduler can't tell apart.
type Class struct {
	Number    int    `json:"number"`
	Namespace string `json:"namespace"`
	// Name is that of the workload, as far as the name of one of its pods tells.
	Name   string `json:"name"`
	CPU    int64  `json:"cpu"`
	Memory int64  `json:"memory"`
	GPU    int64  `json:"gpu,omitempty"`
}

// Pool is a NodePool.
type Pool struct {
	Name  string           `json:"name"`
	Nodes int              `json:"nodes"`
	Price catalog.MicroUSD `json:"price"`
	// Class is the EC2NodeClass that it names.
	Class string `json:"class,omitempty"`
	// NotReady says why it can't launch; empty where it can.
	NotReady string `json:"notReady,omitempty"`
	// Limits and Used by resource, in the units of Amount; only for resources that have a limit.
	Limits map[string]int64 `json:"limits,omitempty"`
	Used   map[string]int64 `json:"used,omitempty"`
}

// Bill is what the nodes that Kerf manages cost per hour.
type Bill struct {
	Running catalog.MicroUSD `json:"running"`
	// Planned is what consolidation could bring it to now, by what it knows. Worth is what the pods would cost on nodes that are
	// filled to the last. Both are 0 before the first decision.
	Planned catalog.MicroUSD `json:"planned"`
	Worth   catalog.MicroUSD `json:"worth"`
	// Dear is the part of Running that nodes cost more than usual which were launched while EC2 was short of cheaper capacity.
	Dear catalog.MicroUSD `json:"dear,omitempty"`
	// Unpriced counts managed nodes whose price is not known.
	Unpriced int `json:"unpriced,omitempty"`
	Spot     int `json:"spot"`
	OnDemand int `json:"onDemand"`
	Reserved int `json:"reserved"`
}

// Point is a moment of the past.
type Point struct {
	At      time.Time        `json:"at"`
	Running catalog.MicroUSD `json:"running"`
	Worth   catalog.MicroUSD `json:"worth"`
	Nodes   int              `json:"nodes"` // that Kerf launched
	Pods    int              `json:"pods"`  // that run, DaemonSets' included
	Waiting int              `json:"waiting"`
}

// Waiting are pods of one class that wait for the same reason.
type Waiting struct {
	Class int `json:"class"`
	// Pod is one of them, as namespace/name.
	Pod   string    `json:"pod"`
	Count int       `json:"count"`
	Since time.Time `json:"since"` // the oldest
	// Node is where they are to go once it is ready, the first of Nodes such nodes; empty where none was found, and Why says why not.
	Node  string `json:"node,omitempty"`
	Nodes int    `json:"nodes,omitempty"`
	Why   string `json:"why,omitempty"`
}

// Where names the nodes that pods are to go to.
func (w *Waiting) Where() string {
	if w.Nodes > 1 {
		return fmt.Sprintf("%s and %d more", w.Node, w.Nodes-1)
	}
	return w.Node
}

// Blocked is what keeps nodes from being removed or replaced for less, by what keeps them.
type Blocked struct {
	Code string `json:"code"`
	// By is the object that blocks: a PodDisruptionBudget or a pod as namespace/name, else the nodes' NodePool.
	By     string           `json:"by,omitempty"`
	Text   string           `json:"text"`
	Remedy string           `json:"remedy,omitempty"` // what would free them, where one object can be changed
	Nodes  []string         `json:"nodes"`            // some of them
	Count  int              `json:"count"`
	Saves  catalog.MicroUSD `json:"saves"`
}

// Move is a disruption that is under way or about to begin.
type Move struct {
	Cause string `json:"cause"`
	// Begun is false while it is only found and not confirmed yet.
	Begun  bool             `json:"begun"`
	Nodes  []string         `json:"nodes"`
	New    []string         `json:"new,omitempty"`
	Pods   int              `json:"pods,omitempty"`
	Saving catalog.MicroUSD `json:"saving,omitempty"`
	Why    string           `json:"why"`
	// Begins is when it begins if decisions find it until then; the zero time where that is not known, or it has begun. Waits says what
	// that time is for, where it takes longer than a moment.
	Begins time.Time `json:"begins,omitzero"`
	Waits  string    `json:"waits,omitempty"`
}

// Held says until when consolidation that moves pods is held, and why.
type Held struct {
	Until time.Time `json:"until"`
	Why   string    `json:"why"`
}

// Closure is something that is not asked of EC2 at the moment because it failed.
type Closure struct {
	Scope        string `json:"scope"`
	CapacityType string `json:"capacityType,omitempty"`
	Reason       string `json:"reason"`
	Count        int    `json:"count"`
	// Opens is when the first of them may be asked for again.
	Opens time.Time `json:"opens,omitzero"`
	// Quotas are those of the account that are used up, if it is for one.
	Quotas []Quota `json:"quotas,omitempty"`
	// Policy says which policy forbids it, and InstanceTypes are what it forbids, where the scope is policy.
	Policy        string   `json:"policy,omitempty"`
	InstanceTypes []string `json:"instanceTypes,omitempty"`
}

// Quota is a quota of the account in the region.
type Quota struct {
	// Name and Code are those of Service Quotas; Code is empty where it is not known.
	Name string `json:"name"`
	Code string `json:"code,omitempty"`
	// Limit is how many vCPUs it allows; 0 where EC2 did not say.
	Limit int `json:"limit,omitempty"`
	// InUse is how many vCPUs the nodes have that Kerf launched; nil where that is not known.
	InUse *int `json:"inUse,omitempty"`
}

// Stall is a drain that waits for a pod which may not be evicted.
type Stall struct {
	Node string `json:"node"`
	Text string `json:"text"` // which pod, and why
	// Reason is why Kerf chose to remove the node; empty where others deleted its NodeClaim, or it is too old, unhealthy or interrupted.
	Reason string           `json:"reason,omitempty"`
	Since  time.Time        `json:"since"`
	Price  catalog.MicroUSD `json:"price,omitempty"` // of the node
}

// Service is an AWS service that was called.
type Service struct {
	Name    string    `json:"name"`
	Answers bool      `json:"answers"`
	Since   time.Time `json:"since,omitzero"`
	Error   string    `json:"error,omitempty"`
}

// Queue is the interruption queue.
type Queue struct {
	Name  string `json:"name"`
	Ready bool   `json:"ready"`
	// Message says what is wrong with it, or what it lacks.
	Message string `json:"message,omitempty"`
}

// Trouble is a condition that is not as it should be.
type Trouble struct {
	Kind      string    `json:"kind"`
	Name      string    `json:"name"`
	Class     string    `json:"class,omitempty"` // the EC2NodeClass that a NodePool or a NodeClaim names
	Condition string    `json:"condition"`
	Reason    string    `json:"reason"`
	Message   string    `json:"message"`
	Since     time.Time `json:"since"`
	// Value is what the field of an EC2NodeClass says now that the condition is about, as JSON; empty where that is not known.
	Value string `json:"value,omitempty"`
}

// Event is something that the controller wrote an event about.
type Event struct {
	At      time.Time `json:"at"`
	Warning bool      `json:"warning,omitempty"`
	// Interruption is set where it tells what AWS does with an instance.
	Interruption bool   `json:"interruption,omitempty"`
	Kind         string `json:"kind"`
	Object       string `json:"object"`
	Reason       string `json:"reason"`
	Message      string `json:"message"`
}
