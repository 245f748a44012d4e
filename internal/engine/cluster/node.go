package cluster

import (
	"maps"
	"slices"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// Node is a node that exists or is being launched: a Node object, a NodeClaim, or both.
type Node struct {
	// Name is the Node's name, or the NodeClaim's while no Node has joined. Hostname is the value of kubernetes.io/hostname
	// (empty: Name).
	Name     string `json:"name"`
	Hostname string `json:"hostname,omitempty"`
	// Claim is the NodeClaim's name; empty for nodes that Kerf does not manage.
	Claim      string `json:"claim,omitempty"`
	Pool       string `json:"pool,omitempty"`
	ProviderID string `json:"providerID,omitempty"`
	// Labels of the Node, or, before it has joined, what is certain of the NodeClaim. A claim that is not launched yet has
	// its open choices in Requirements instead.
	Labels       map[string]string  `json:"labels,omitempty"`
	Requirements []requirement.Term `json:"requirements,omitempty"`
	// Taints that count for scheduling: start-up and known ephemeral taints are left out until initialization.
	Taints []Taint `json:"taints,omitempty"`
	// Allocatable of the node; for a claim not launched yet the least that any type it may become has, but never less
	// than what was requested of it.
	Allocatable res.List `json:"allocatable"`
	Capacity    res.List `json:"capacity,omitempty"`
	// AttachLimits is how many volumes the node attaches, by CSI driver. A driver that is not listed has no limit, or it
	// is not known.
	AttachLimits res.List `json:"attachLimits,omitempty"`
	// Used is the sum of the requests of Pods; DaemonUsed the part of it that daemons hold.
	Used       res.List `json:"used,omitempty"`
	DaemonUsed res.List `json:"daemonUsed,omitempty"`
	// Pods bound to the node, or given room on it while it is in flight, sorted by namespace and name.
	Pods []*Pod `json:"pods,omitempty"`

	CapacityType string           `json:"capacityType,omitempty"`
	InstanceType string           `json:"instanceType,omitempty"`
	Zone         string           `json:"zone,omitempty"`
	Price        catalog.MicroUSD `json:"price,omitempty"` // per hour; 0 when not known

	Launched    bool      `json:"launched,omitempty"`
	Registered  bool      `json:"registered,omitempty"`
	Initialized bool      `json:"initialized,omitempty"`
	Ready       bool      `json:"ready,omitempty"`
	Deleting    bool      `json:"deleting,omitempty"` // its pods need another place
	Leaving     bool      `json:"leaving,omitempty"`  // it is to go once what its pods need elsewhere is there, and takes no others
	CreatedAt   time.Time `json:"createdAt"`
	// DoNotDisrupt is the node's or its claim's annotation.
	DoNotDisrupt bool `json:"doNotDisrupt,omitempty"`
	// Virtual is for how many virtual pods the last decision found room here. They are pending all the same.
	Virtual int `json:"virtual,omitempty"`
}

// Pool is a NodePool with the catalog that its node class gives it.
type Pool struct {
	Name   string `json:"name"`
	Weight int    `json:"weight,omitempty"`
	// Requirements are the template's requirements, its labels, the nodepool label and the node class label.
	Requirements  []requirement.Term `json:"requirements,omitempty"`
	Labels        map[string]string  `json:"labels,omitempty"`
	Taints        []Taint            `json:"taints,omitempty"`
	StartupTaints []Taint            `json:"startupTaints,omitempty"`
	// Limits on the sum of capacity of the pool's nodes; nil: none. The key res.Nodes limits their number.
	Limits res.List `json:"limits,omitempty"`
	// Used is the capacity of the pool's existing and in-flight nodes, res.Nodes included.
	Used res.List `json:"used,omitempty"`
	// Types may be shared between pools.
	Types []*catalog.Type `json:"types"`
	// Subnets are those in which nodes of the pool may be launched and addresses may run short, sorted by ID; pools may
	// share them. In zones of which none is listed there is no end of addresses.
	Subnets []Subnet `json:"subnets,omitempty"`
	// NotReady, when set, says why the pool can't launch now; its nodes still serve.
	NotReady string `json:"notReady,omitempty"`
	// Version tells the NodePool and its template from what they were or will be, so that a plan is not carried out for others than
	// it was made for; empty: not known. Nothing is decided by it, and it is not recorded.
	Version string `json:"-"`
}

// TypeNamed is the pool's instance type of that name; nil if it has none.
func (p *Pool) TypeNamed(name string) *catalog.Type {
	for _, t := range p.Types {
		if t.Name == name {
			return t
		}
	}
	return nil
}

// Same reports whether the pools differ in nothing. Types are the same when their pointers are, so it must not be called
// Equal: tests that compare field by field would use it.
func (p *Pool) Same(o *Pool) bool {
	return p == o || p.Name == o.Name && p.Weight == o.Weight && p.NotReady == o.NotReady && p.Version == o.Version && p.SameTerms(o) &&
		slices.Equal(p.StartupTaints, o.StartupTaints) && maps.Equal(p.Limits, o.Limits) && maps.Equal(p.Used, o.Used) &&
		slices.Equal(p.Subnets, o.Subnets) && slices.Equal(p.Types, o.Types)
}

// SameTerms reports whether the pools put the same labels and taints on their nodes.
func (p *Pool) SameTerms(o *Pool) bool {
	return p == o || slices.Equal(p.Taints, o.Taints) && maps.Equal(p.Labels, o.Labels) &&
		slices.EqualFunc(p.Requirements, o.Requirements, requirement.Term.Equal)
}

// Snapshot is the cluster at one generation. It is immutable: whoever holds it may read it without a lock, and nobody
// may write to anything reachable from it.
type Snapshot struct {
	Generation uint64 `json:"generation"`
	// Nodes sorted by name. Nodes keep their pointer from one snapshot to the next while nothing of them changed.
	Nodes []*Node `json:"nodes"`
	// Pending are pods that need a place, sorted by namespace and name.
	Pending []*Pod   `json:"pending"`
	Daemons []Daemon `json:"daemons,omitempty"`
	// NamespaceLabels serve namespace selectors.
	NamespaceLabels map[string]map[string]string `json:"namespaceLabels,omitempty"`
	// Unsettled counts virtual pods that no decision has looked at yet: any node may be needed for them.
	Unsettled int `json:"unsettled,omitempty"`
}
