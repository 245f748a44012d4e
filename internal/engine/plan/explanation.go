package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
)

// Kind is what sort of thing a Constraint is; the set is closed.
type Kind string

// The constraints that can keep a pod from a node of a pool.
const (
	ResourceRequest Kind = "ResourceRequest" // Key: resource; Want: amount
	NodeSelector    Kind = "NodeSelector"    // Key; Want: the term
	NodeAffinity    Kind = "NodeAffinity"    // Key when it has one term; Want: the term, or all alternatives
	VolumeTopology  Kind = "VolumeTopology"  // Want: where the pod's volumes can be reached
	VolumeCount     Kind = "VolumeCount"     // Key: CSI driver; Want: how many volumes the pod attaches
	HostPortDemand  Kind = "HostPort"        // Want: port/protocol
	SpreadDemand    Kind = "TopologySpread"  // Key: topology key; Want: the rule
	AffinityDemand  Kind = "PodAffinity"     // Key: topology key; Want: selector
	ApartDemand     Kind = "PodAntiAffinity" // Key: topology key; Want: selector
	PoolReadiness   Kind = "PoolReadiness"   // Want: why it is not ready
	PoolTaint       Kind = "PoolTaint"       // Want: the taint
	PoolRequirement Kind = "PoolRequirement" // Key; Want: the term
	PoolMinValues   Kind = "PoolMinValues"   // Key; Want: the least number of values
	PoolLimit       Kind = "PoolLimit"       // Key: resource; Want: the limit; Have: what is in use, this plan included
	Availability    Kind = "Availability"    // offerings that can't be launched now
	DaemonOverhead  Kind = "DaemonOverhead"  // what daemons take of every node
	OthersApart     Kind = "OthersApart"     // pods that run already keep away from this one
)

// Constraint is one demand that takes part in a conflict.
type Constraint struct {
	Kind Kind   `json:"kind"`
	Pool string `json:"pool,omitempty"` // of constraints that a pool brings
	Key  string `json:"key,omitempty"`
	Want string `json:"want,omitempty"`
	Have string `json:"have,omitempty"`
}

// Text words the constraint, without the pool's name.
func (c Constraint) Text() string {
	switch c.Kind {
	case ResourceRequest:
		return fmt.Sprintf("the pod's request for %s %s", c.Want, c.Key)
	case NodeSelector:
		return "the pod's nodeSelector " + c.Want
	case NodeAffinity:
		return "the pod's node affinity " + c.Want
	case VolumeTopology:
		return "its volumes, which are bound to " + c.Want
	case VolumeCount:
		return fmt.Sprintf("the number of volumes of %s that the pod attaches, %s", c.Key, c.Want)
	case HostPortDemand:
		return "the pod's host port " + c.Want
	case SpreadDemand:
		return fmt.Sprintf("the pod's spread over %s (%s)", c.Key, c.Want)
	case AffinityDemand:
		return fmt.Sprintf("the pod's affinity by %s to %s", c.Key, c.Want)
	case ApartDemand:
		return fmt.Sprintf("the pod's anti-affinity by %s to %s", c.Key, c.Want)
	case PoolReadiness:
		return "the pool is not ready: " + c.Want
	case PoolTaint:
		return fmt.Sprintf("the pool's taint %s, which the pod does not tolerate", c.Want)
	case PoolRequirement:
		return "the pool's requirement " + c.Want
	case PoolMinValues:
		return fmt.Sprintf("the pool's minValues %s of %s", c.Want, c.Key)
	case PoolLimit:
		return fmt.Sprintf("the pool's limit of %s %s, of which %s are in use or about to be", c.Want, c.Key, c.Have)
	case Availability:
		return "what can't be launched now: " + c.Want
	case DaemonOverhead:
		return "what daemons take of every node: " + c.Want
	case OthersApart:
		return "the anti-affinity of pods that run already"
	}
	return string(c.Kind)
}

// Change is a single change with which a pod of the class would find a place.
type Change struct {
	Constraint Constraint `json:"constraint"` // the one that is changed
	Pool       string     `json:"pool"`       // that would launch the node
	// To is what to put in place of Constraint.Want; empty: take it away.
	To string `json:"to,omitempty"`
	// Node is what would be launched for one such pod.
	Node TypeChoice `json:"node"`
	// Refused is why EC2 refuses other instances of the node's capacity type now, for the account as a whole: it may refuse this one too.
	Refused string `json:"refused,omitempty"`
	// Places tells how many of the class's pods the whole problem, solved again with the change, gives a place, and More by
	// how much its plan then costs more per hour. Both are set for the changes that were tried so.
	Proven bool             `json:"proven,omitempty"`
	Places int              `json:"places,omitempty"`
	Of     int              `json:"of,omitempty"`
	More   catalog.MicroUSD `json:"more,omitempty"`
}

// Text words the change as an instruction.
func (c Change) Text() string {
	k := c.Constraint
	switch k.Kind {
	case ResourceRequest:
		if c.To == "" {
			return fmt.Sprintf("do not ask for %s", k.Key)
		}
		return fmt.Sprintf("ask for at most %s %s, %s less than now", c.To, k.Key, k.Have)
	case NodeSelector, NodeAffinity:
		where := "nodeSelector"
		if k.Kind == NodeAffinity {
			where = "node affinity"
		}
		if c.To == "" {
			return fmt.Sprintf("take %s out of the pod's %s", k.Want, where)
		}
		return fmt.Sprintf("let the pod's %s say %s, not %s", where, c.To, k.Want)
	case VolumeTopology:
		return "give the pod volumes that can be reached from " + c.To
	case VolumeCount:
		if c.To == "" {
			return "attach no volume of " + k.Key
		}
		return fmt.Sprintf("attach at most %s volumes of %s, not %s", c.To, k.Key, k.Want)
	case HostPortDemand:
		return "take another host port than " + k.Want
	case SpreadDemand:
		return fmt.Sprintf("make the spread over %s soft (whenUnsatisfiable: ScheduleAnyway)", k.Key)
	case AffinityDemand:
		return fmt.Sprintf("make the affinity by %s to %s a preference", k.Key, k.Want)
	case ApartDemand:
		return fmt.Sprintf("make the anti-affinity by %s to %s a preference", k.Key, k.Want)
	case PoolReadiness:
		return fmt.Sprintf("get NodePool %s ready: %s", c.Pool, k.Want)
	case PoolTaint:
		return fmt.Sprintf("let the pod tolerate %s, which NodePool %s has", k.Want, c.Pool)
	case PoolRequirement:
		if c.To == "" {
			return fmt.Sprintf("take %s out of NodePool %s", k.Want, c.Pool)
		}
		return fmt.Sprintf("let NodePool %s allow %s as well (it says %s)", c.Pool, c.To, k.Want)
	case PoolMinValues:
		return fmt.Sprintf("lower minValues of %s in NodePool %s from %s to %s", k.Key, c.Pool, k.Want, c.To)
	case PoolLimit:
		return fmt.Sprintf("raise the limit on %s of NodePool %s from %s to %s", k.Key, c.Pool, k.Want, c.To)
	case Availability:
		if k.Key != "" {
			return fmt.Sprintf("wait: EC2 is short of %s %s in %s, next try at %s", c.Node.CapacityType, c.Node.Name, c.Node.Zone, k.Key)
		}
		return fmt.Sprintf("wait until %s %s in %s can be launched again", c.Node.CapacityType, c.Node.Name, c.Node.Zone)
	case DaemonOverhead:
		return "keep daemons from the instances of NodePool " + c.Pool + ", or make them smaller"
	case OthersApart:
		return "let the pods that keep away from this one do so by preference only"
	}
	return "change " + k.Text()
}

// Conflict says why one pool can't launch a node for a class.
type Conflict struct {
	Pool string `json:"pool"`
	// Constraints are in conflict: together they leave nothing, and without any one of them something would be left. Empty
	// when each constraint can be met for one pod alone, or when the search was given up.
	Constraints []Constraint `json:"constraints,omitempty"`
	// Reason is what the plan says of the pool.
	Reason *Reason `json:"reason,omitempty"`
	// Changes are the single changes that would do in this pool, best first.
	Changes []Change `json:"changes,omitempty"`
}

// Explanation says why the pods of a class found no place, and what would help.
type Explanation struct {
	ClassID string `json:"classID"`
	Pods    int    `json:"pods"` // that found no place
	// General reasons hold for every pool and need no look at each.
	General   []Reason   `json:"general,omitempty"`
	Conflicts []Conflict `json:"conflicts,omitempty"`
	// Nodes says why the existing nodes do not do.
	Nodes *Reason `json:"nodes,omitempty"`
	// Best is the cheapest single change of all; nil when no single change would do.
	Best *Change `json:"best,omitempty"`
	// Unfinished is set when the search stopped before it had looked at every pool.
	Unfinished bool `json:"unfinished,omitempty"`
	// Currency of all prices; empty is USD.
	Currency catalog.Currency `json:"currency,omitempty"`
}

// String is the explanation for people. Pools with the same conflict share a line.
func (e *Explanation) String() string {
	var b strings.Builder
	for _, r := range e.General {
		fmt.Fprintf(&b, "%s\n", r.Text())
	}
	type entry struct {
		pools []string
		text  string
	}
	var entries []*entry
	for _, c := range e.Conflicts {
		text := c.text()
		at := slices.IndexFunc(entries, func(x *entry) bool { return x.text == text })
		if at < 0 {
			at = len(entries)
			entries = append(entries, &entry{text: text})
		}
		entries[at].pools = append(entries[at].pools, c.Pool)
	}
	for _, x := range entries {
		noun := "pool "
		if len(x.pools) > 1 {
			noun = "pools "
		}
		fmt.Fprintf(&b, "%s%s: %s\n", noun, strings.Join(x.pools, ", "), x.text)
	}
	if e.Nodes != nil {
		fmt.Fprintf(&b, "%s\n", e.Nodes.Text())
	}
	if e.Best != nil {
		fmt.Fprintf(&b, "cheapest single change: %s\n  %s\n", e.Best.Text(), e.Best.effect(e.Currency))
		for _, c := range e.others() {
			fmt.Fprintf(&b, "or: %s\n  %s\n", c.Text(), c.effect(e.Currency))
		}
	} else if len(e.Conflicts) > 0 {
		b.WriteString("no single change is known that would do" + e.severally() + "\n")
	}
	if e.Unfinished {
		b.WriteString("the search was stopped before every pool was looked at\n")
	}
	return b.String()
}

// severally says that several things must change, when each pool has a conflict.
func (e *Explanation) severally() string {
	if slices.ContainsFunc(e.Conflicts, func(c Conflict) bool { return len(c.Constraints) == 0 }) {
		return ""
	}
	return "; more than one of these must change"
}

// others are the best changes after the best, at most two, none said twice.
func (e *Explanation) others() []Change {
	said := map[string]bool{e.Best.Text(): true}
	var out []Change
	for _, c := range e.Conflicts {
		for _, x := range c.Changes {
			if !said[x.Text()] && len(out) < 2 {
				said[x.Text()] = true
				out = append(out, x)
			}
		}
	}
	return out
}

func (c *Conflict) text() string {
	if len(c.Constraints) == 0 {
		if c.Reason == nil {
			return "could take such a pod by itself, but not with all that must be placed"
		}
		r := *c.Reason
		r.Pool = ""
		return r.Text()
	}
	var parts []string
	for _, x := range c.Constraints {
		parts = append(parts, x.Text())
	}
	if len(parts) == 1 {
		if c.Reason != nil && c.Constraints[0].SaidBy(c.Reason) {
			r := *c.Reason
			r.Pool = ""
			return r.Text()
		}
		return "ruled out by " + parts[0]
	}
	return "these can't all be met: " + strings.Join(parts, "; ")
}

// SaidBy reports whether the reason is about the constraint; then its words are the better ones, because they tell what
// would have come closest.
func (c Constraint) SaidBy(r *Reason) bool {
	switch r.Code {
	case PoolNotReady:
		return c.Kind == PoolReadiness
	case TaintNotTolerated:
		return c.Kind == PoolTaint && c.Key == r.Key
	case TooLarge:
		return c.Kind == ResourceRequest && c.Key == r.Resource || c.Kind == VolumeCount && catalog.AttachResource(c.Key) == r.Resource
	case LabelMismatch, LabelUnknown, NoTypeMatches:
		return (c.Kind == NodeSelector || c.Kind == NodeAffinity) && c.Key == r.Key
	case LimitReached:
		return c.Kind == PoolLimit && c.Key == r.Resource
	case HostPortTaken:
		return c.Kind == HostPortDemand
	case TopologyUnmet:
		return c.Kind == SpreadDemand && c.Key == r.Key
	case AffinityUnmet:
		return c.Kind == AffinityDemand && c.Key == r.Key
	case AntiAffinityUnmet:
		return c.Kind == ApartDemand && c.Key == r.Key
	}
	return false
}

func (c *Change) effect(in catalog.Currency) string {
	text := fmt.Sprintf("an instance for it, %s %s %s, costs %s/h", c.Node.Name, c.Node.Zone, c.Node.CapacityType, in.Amount(c.Node.Price))
	if c.Proven {
		text += fmt.Sprintf("; solved again with this change, %d of %s found a place, and the plan costs %s", c.Places, Count(c.Of, "pod"), more(c.More, in))
	}
	if c.Refused != "" {
		text += fmt.Sprintf("; EC2 refuses other %s instances now (%s), and may refuse this one", c.Node.CapacityType, c.Refused)
	}
	return text
}

// Why is what explains a node that was launched.
type Why struct {
	NewNode int     `json:"newNode"` // index in the plan
	Node    NewNode `json:"node"`
	// RunnersUp are what the same pods would have been put on without the types before, best first.
	RunnersUp []RunnerUp `json:"runnersUp,omitempty"`
}

// RunnerUp is the best answer for the same pods without certain types.
type RunnerUp struct {
	// Without lists the types that were taken away.
	Without []string     `json:"without"`
	Nodes   []TypeChoice `json:"nodes,omitempty"`
	// Price of all Nodes, per hour.
	Price catalog.MicroUSD `json:"price"`
	// Unplaced pods would have been left.
	Unplaced []cluster.PodRef `json:"unplaced,omitempty"`
}

// Text words the runner-up: how many nodes of which types, and at what price, in a currency.
func (r RunnerUp) Text(in catalog.Currency) string {
	type kind struct{ name, capacityType string }
	var order []kind
	count := map[kind]int{}
	for _, n := range r.Nodes {
		k := kind{n.Name, n.CapacityType}
		if count[k] == 0 {
			order = append(order, k)
		}
		count[k]++
	}
	var parts []string
	for _, k := range order {
		parts = append(parts, fmt.Sprintf("%d x %s %s", count[k], k.name, k.capacityType))
	}
	text := "no instance at all"
	if len(parts) > 0 {
		text = strings.Join(parts, ", ") + " at " + in.Amount(r.Price) + "/h"
	}
	if len(r.Unplaced) > 0 {
		text += fmt.Sprintf(", with %s left without a place", Count(len(r.Unplaced), "pod"))
	}
	return text
}

// more words a difference in price per hour.
func more(m catalog.MicroUSD, in catalog.Currency) string {
	switch {
	case m > 0:
		return in.Amount(m) + "/h more"
	case m < 0:
		return in.Amount(-m) + "/h less"
	}
	return "no more"
}
