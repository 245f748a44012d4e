package conflict

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/pack"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// variant is one pod of a class and one pool, as copies that may be changed, and what surrounds them.
type variant struct {
	class   *cluster.Class
	pool    *cluster.Pool
	daemons []cluster.Daemon
	nodes   []*cluster.Node
}

// An edit changes a variant. What it takes out of a list it leaves there with an empty key, so that the places of the
// rest do not change under other edits; tidy drops it in the end.
type edit func(v *variant)

func copyClass(c *cluster.Class) *cluster.Class {
	out := *c
	out.Requests = c.Requests.Clone()
	out.Selector = copyTerms(c.Selector)
	out.Affinity, out.Volumes = copyLists(c.Affinity), copyLists(c.Volumes)
	out.Tolerations = slices.Clone(c.Tolerations)
	out.HostPorts = slices.Clone(c.HostPorts)
	out.Attach, out.Shared = c.Attach.Clone(), slices.Clone(c.Shared)
	out.Spreads = slices.Clone(c.Spreads)
	out.PodAffinity, out.AntiAffinity = slices.Clone(c.PodAffinity), slices.Clone(c.AntiAffinity)
	return &out
}

func copyPool(p *cluster.Pool) *cluster.Pool {
	out := *p
	out.Requirements = copyTerms(p.Requirements)
	out.Labels = maps.Clone(p.Labels)
	out.Taints = slices.Clone(p.Taints)
	out.Limits = p.Limits.Clone()
	return &out
}

func copyTerms(terms []requirement.Term) []requirement.Term { return slices.Clone(terms) }

func copyLists(lists [][]requirement.Term) [][]requirement.Term {
	out := slices.Clone(lists)
	for i := range out {
		out[i] = slices.Clone(out[i])
	}
	return out
}

// hardOnly drops what can't keep a pod from a node.
func hardOnly(c *cluster.Class) *cluster.Class {
	out := copyClass(c)
	out.Preferred = nil
	out.Spreads = slices.DeleteFunc(out.Spreads, func(s cluster.Spread) bool { return s.Soft })
	preferred := func(t cluster.PodAffinity) bool { return t.Weight > 0 }
	out.PodAffinity = slices.DeleteFunc(out.PodAffinity, preferred)
	out.AntiAffinity = slices.DeleteFunc(out.AntiAffinity, preferred)
	return out
}

func tidyTerms(terms []requirement.Term) []requirement.Term {
	return slices.DeleteFunc(terms, func(t requirement.Term) bool { return t.Key == "" })
}

// tidy drops what edits have marked.
func (v *variant) tidy() {
	c, p := v.class, v.pool
	c.Selector, p.Requirements = tidyTerms(c.Selector), tidyTerms(p.Requirements)
	for i := range c.Affinity {
		c.Affinity[i] = tidyTerms(c.Affinity[i])
	}
	if len(c.Affinity) == 1 && len(c.Affinity[0]) == 0 {
		c.Affinity = nil
	}
	c.HostPorts = slices.DeleteFunc(c.HostPorts, func(h cluster.HostPort) bool { return h.Port == 0 })
	p.Taints = slices.DeleteFunc(p.Taints, func(t cluster.Taint) bool { return t.Key == "" })
	c.ID = ""
	c.ID = c.Hash()
}

// carriedOut is the cluster as it is once the plan is carried out, with no room for more: its pods still count for
// topology, its new nodes for limits.
func carriedOut(p *pack.Problem, out *plan.Plan) (nodes []*cluster.Node, used map[string]res.List) {
	pods := map[cluster.PodRef]*cluster.Pod{}
	for _, pod := range p.Pending {
		pods[pod.PodRef] = pod
	}
	on := map[string][]cluster.PodRef{}
	for _, x := range out.Placements {
		on[x.Node] = x.Pods
	}
	for _, n := range p.Nodes {
		full := *n
		full.Allocatable = res.List{}
		full.Pods = withPods(n.Pods, on[n.Name], pods)
		nodes = append(nodes, &full)
	}
	used = map[string]res.List{}
	pools := map[string]*cluster.Pool{}
	for _, pool := range p.Pools {
		pools[pool.Name] = pool
		used[pool.Name] = pool.Used.Clone()
		if used[pool.Name] == nil {
			used[pool.Name] = res.List{}
		}
	}
	for i := range out.NewNodes {
		nn := &out.NewNodes[i]
		pool := pools[nn.Pool]
		if pool == nil || len(nn.Types) == 0 {
			continue
		}
		n := nodeOf(nn, pool, i)
		n.Pods = withPods(nil, nn.Pods, pods)
		nodes = append(nodes, n)
		used[nn.Pool].Add(leastCapacity(nn, pool))
		used[nn.Pool][res.Nodes]++
	}
	return nodes, used
}

func withPods(have []*cluster.Pod, more []cluster.PodRef, pods map[cluster.PodRef]*cluster.Pod) []*cluster.Pod {
	out := slices.Clone(have)
	for _, ref := range more {
		if pod := pods[ref]; pod != nil {
			out = append(out, pod)
		}
	}
	return out
}

// nodeOf is what becomes of a planned node when its first type is launched, with no room left.
func nodeOf(nn *plan.NewNode, pool *cluster.Pool, number int) *cluster.Node {
	name := fmt.Sprintf("new-%06d", number)
	n := &cluster.Node{Name: name, Claim: name, Pool: nn.Pool, Allocatable: res.List{}, Taints: pool.Taints, Launched: true, Labels: map[string]string{
		requirement.NodePool: nn.Pool, requirement.Hostname: name}}
	choice := nn.Types[0]
	n.Zone, n.CapacityType, n.InstanceType, n.Price = choice.Zone, choice.CapacityType, choice.Name, choice.Price
	n.Labels[requirement.Zone], n.Labels[requirement.CapacityType], n.Labels[requirement.InstanceType] = choice.Zone, choice.CapacityType, choice.Name
	lists := [][]requirement.Term{nn.Requirements}
	if t := pool.TypeNamed(choice.Name); t != nil {
		lists = append(lists, t.Requirements)
	}
	for _, terms := range lists {
		for _, t := range terms {
			if _, ok := n.Labels[t.Key]; !ok && t.Operator == requirement.In && len(t.Values) == 1 {
				n.Labels[t.Key] = t.Values[0]
			}
		}
	}
	for k, v := range pool.Labels {
		n.Labels[k] = v
	}
	return n
}

// leastCapacity is the least of each resource that the planned node may turn out to have, which is what limits count.
func leastCapacity(nn *plan.NewNode, pool *cluster.Pool) res.List {
	least := res.List{}
	names := map[string]bool{}
	for _, c := range nn.Types {
		names[c.Name] = true
	}
	first := true
	for _, t := range pool.Types {
		if !names[t.Name] {
			continue
		}
		for k := range pool.Limits {
			if x := t.Capacity[k]; first || x < least[k] {
				least[k] = x
			}
		}
		first = false
	}
	return least
}

// solvable is the variant as a problem of its own: one pod, one pool.
func (v *variant) solvable(p *pack.Problem) *pack.Problem {
	out := &pack.Problem{Now: p.Now, Generation: p.Generation, Nodes: v.nodes, Pools: []*cluster.Pool{v.pool}, Daemons: v.daemons, Options: p.Options}
	out.Options.IgnorePreferences = true
	out.Pending = []*cluster.Pod{{PodRef: cluster.PodRef{Namespace: v.class.Namespace, Name: "asked-about", UID: "asked-about"}, Class: v.class, CreatedAt: p.Now}}
	return out
}

// byPrice orders changes: waiting for what EC2 is asked for again anyway and the repair of what is broken, edits, other waiting, then by price, then as they were found.
func byPrice(a, b plan.Change) int {
	return cmp.Or(cmp.Compare(min(1, len(a.Refused)), min(1, len(b.Refused))), cmp.Compare(effort(&a), effort(&b)), cmp.Compare(a.Node.Price, b.Node.Price))
}

// effort ranks what it takes to make a change: an edit of one object; work on several, or a pod that does without what it
// was made for; patience.
func effort(c *plan.Change) int {
	switch c.Constraint.Kind {
	case plan.ResourceRequest:
		if c.To == "" {
			return 1
		}
	case plan.PoolReadiness:
		return -1 // the pool is what is broken, not what asks for it
	case plan.VolumeTopology, plan.DaemonOverhead, plan.OthersApart:
		return 1
	case plan.Availability:
		if c.Constraint.Key != "" {
			return -1 // it comes by itself
		}
		return 2
	}
	return 0
}
