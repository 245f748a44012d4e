// Package floor says how little the pods of a cluster could cost: the least that any instances could that carry them, proved, and
// how much less that would be without each kind of constraint.
package floor

import (
	"cmp"
	"maps"
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/bound"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// Floor is the answer.
type Floor struct {
	// Bound is the least that instances for the pods could cost per hour, Running what those cost that run.
	Bound   catalog.MicroUSD `json:"bound"`
	Running catalog.MicroUSD `json:"running"`
	Pods    int              `json:"pods"`
	// Constraints are the kinds that cost something, the dearest first.
	Constraints []Constraint `json:"constraints,omitempty"`
}

// Constraint is what one kind of constraint costs: how much lower the floor would be if no pod had it.
type Constraint struct {
	Kind  Kind             `json:"kind"`
	Costs catalog.MicroUSD `json:"costs"`
	// Workloads counts the workloads that have it; Named are the first of them, those with the most pods first, as namespace/name.
	Workloads int      `json:"workloads"`
	Named     []string `json:"named"`
}

// namedMost is how many workloads a constraint names: what a line has room for.
const namedMost = 3

// Kind is a kind of constraint.
type Kind string

// The kinds, as users write them.
const (
	Spreads   Kind = "topologySpreadConstraints"
	Apart     Kind = "podAntiAffinity"
	Together  Kind = "podAffinity"
	Selectors Kind = "nodeSelector and nodeAffinity"
	Volumes   Kind = "volumes in one zone"
	HostPorts Kind = "hostPort"
	Daemons   Kind = "DaemonSets"
)

// Kinds are all of them.
var Kinds = []Kind{Spreads, Apart, Together, Selectors, Volumes, HostPorts, Daemons}

// without takes a kind of constraint from a class; false where it has none.
func without(kind Kind, c *cluster.Class) bool {
	switch kind {
	case Spreads:
		had := slices.ContainsFunc(c.Spreads, func(s cluster.Spread) bool { return !s.Soft })
		c.Spreads = nil
		return had
	case Apart:
		had := slices.ContainsFunc(c.AntiAffinity, required)
		c.AntiAffinity = nil
		return had
	case Together:
		had := slices.ContainsFunc(c.PodAffinity, required)
		c.PodAffinity = nil
		return had
	case Selectors:
		had := len(c.Selector)+len(c.Affinity) > 0
		c.Selector, c.Affinity = nil, nil
		return had
	case Volumes:
		had := len(c.Volumes) > 0
		c.Volumes = nil
		return had
	case HostPorts:
		had := len(c.HostPorts) > 0
		c.HostPorts = nil
		return had
	case Daemons:
	}
	return false
}

func required(t cluster.PodAffinity) bool { return t.Weight == 0 }

// Of finds the floor for the pods that run on nodes of Kerf's, and for those that are given room on an instance that has been launched.
// Nodes that Kerf does not manage keep their pods. work bounds each of the searches, in elementary steps of about a nanosecond; 0 is bound.DefaultWork.
//
// What is closed for a while counts as if it were open: a floor does not rise in a shortage. Pods that no instance could
// carry which the NodePools would launch count for nothing: the floor stays below what they cost.
//
// Cost: a search for the whole, and one for each kind of constraint that occurs.
func Of(p *pack.Problem, work int64) *Floor {
	emptied, runs := Empty(p)
	b := bound.Budget{Work: work, Memory: &bound.Memory{}}
	out := least(emptied, runs, b)
	for _, kind := range Kinds {
		loosened, have := Loosen(emptied, kind)
		if len(have) == 0 {
			continue
		}
		if costs := out.Bound - bound.Lower(loosened, runs, b).Bound; costs > 0 {
			out.Constraints = append(out.Constraints, Constraint{Kind: kind, Costs: costs, Workloads: len(have), Named: most(have)})
		}
	}
	slices.SortStableFunc(out.Constraints, func(a, b Constraint) int { return cmp.Compare(b.Costs, a.Costs) })
	return out
}

// Least is Of without what constraints cost.
//
// Cost: one search.
func Least(p *pack.Problem, b bound.Budget) *Floor {
	emptied, runs := Empty(p)
	return least(emptied, runs, b)
}

func least(emptied *pack.Problem, runs *plan.Plan, b bound.Budget) *Floor {
	return &Floor{Running: runs.Price, Pods: len(emptied.Pending), Bound: bound.Lower(emptied, runs, b).Bound}
}

// Empty makes the problem of launching everything anew that Kerf has launched, and a plan that has the pods in the zones in which
// they run, at the price of what runs: the bound counts spreads that the plan keeps.
func Empty(p *pack.Problem) (*pack.Problem, *plan.Plan) {
	q, running := *p, catalog.MicroUSD(0)
	zones := map[string][]cluster.PodRef{}
	held := map[reserved]int{}
	q.Nodes, q.Pending = nil, nil
	for _, n := range p.Nodes {
		if n.Claim == "" {
			full := *n
			full.Allocatable = n.Used // what is free there is not Kerf's to count on
			q.Nodes = append(q.Nodes, &full)
			continue
		}
		if !n.Launched {
			continue // it costs nothing yet, so its pods would raise the floor above what runs
		}
		running += n.Price
		if id := n.Labels[requirement.ReservationID]; id != "" {
			held[reserved{id, n.InstanceType, n.Zone}]++
		}
		for _, pod := range n.Pods {
			if pod.Daemon || pod.Mirror || pod.Terminating || pod.Class.Unplaceable != "" {
				continue
			}
			free := *pod
			free.Node = ""
			q.Pending = append(q.Pending, &free)
			zones[n.Zone] = append(zones[n.Zone], pod.PodRef)
		}
	}
	slices.SortFunc(q.Pending, func(a, b *cluster.Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	q.Pools = nil
	for _, pool := range p.Pools {
		fresh := *pool
		fresh.Used = nil
		fresh.Types = open(pool.Types, held)
		q.Pools = append(q.Pools, &fresh)
	}
	runs := &plan.Plan{Price: running}
	for _, zone := range slices.Sorted(maps.Keys(zones)) {
		runs.NewNodes = append(runs.NewNodes, plan.NewNode{
			Requirements: []requirement.Term{{Key: requirement.Zone, Operator: requirement.In, Values: []string{zone}}}, Pods: zones[zone],
		})
	}
	return &q, runs
}

// reserved is what instances out of a reservation have in common.
type reserved struct{ reservation, kind, zone string }

// open are types with everything open that may run now: what is closed for a while (after an interruption its pool counts as empty)
// and what the nodes hold of reservations.
func open(types []*catalog.Type, held map[reserved]int) []*catalog.Type {
	taken := func(t *catalog.Type, o *catalog.Offering) int { return held[reserved{o.ReservationID, t.Name, o.Zone}] }
	opened, _ := catalog.Opened(types, func(t *catalog.Type, o *catalog.Offering) bool { return o.Passing() || taken(t, o) > 0 })
	for i, t := range opened {
		if t == types[i] {
			continue
		}
		for j := range t.Offerings { // those of a copy
			t.Offerings[j].Reservable += taken(t, &t.Offerings[j])
		}
	}
	return opened
}

// Loosen is the problem with a kind of constraint taken from all pending pods; have counts the pods of each workload that had it.
func Loosen(p *pack.Problem, kind Kind) (loosened *pack.Problem, have map[string]int) {
	q, have := *p, map[string]int{}
	if kind == Daemons {
		q.Daemons = nil
		for i := range p.Daemons {
			have[p.Daemons[i].Name] = 1
		}
		return &q, have
	}
	made := map[*cluster.Class]*cluster.Class{}
	q.Pending = slices.Clone(p.Pending)
	for i, pod := range p.Pending {
		class := made[pod.Class]
		if class == nil {
			class = new(*pod.Class)
			if without(kind, class) {
				class.ID = class.Hash()
			}
			made[pod.Class] = class
		}
		if class.ID != pod.Class.ID {
			free := *pod
			free.Class = class
			q.Pending[i] = &free
			have[pod.Namespace+"/"+pod.Workload()]++
		}
	}
	return &q, have
}

// most are the workloads with the most pods.
func most(have map[string]int) []string {
	names := slices.SortedFunc(maps.Keys(have), func(a, b string) int {
		return cmp.Or(cmp.Compare(have[b], have[a]), cmp.Compare(a, b))
	})
	return names[:min(len(names), namedMost)]
}

// Bound is the floor alone, without what each kind of constraint costs.
func Bound(p *pack.Problem, b bound.Budget) catalog.MicroUSD {
	emptied, runs := Empty(p)
	return bound.Lower(emptied, runs, b).Bound
}
