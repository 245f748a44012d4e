package scenario

import (
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// CarryOut is the cluster after all moves of the decision, with every new node launched at the first of its types. The
// problem itself is left as it is.
func CarryOut(p *pack.Problem, d *disrupt.Decision) *pack.Problem {
	out := *p
	e := &Env{Problem: &out, serial: map[string]int{"node": len(p.Nodes)}}
	out.Pools = nil
	for _, pool := range p.Pools {
		own := *pool
		own.Used = pool.Used.Clone()
		out.Pools = append(out.Pools, &own)
	}
	gone := map[string]bool{}
	pods := map[cluster.PodRef]*cluster.Pod{}
	for i := range d.Moves {
		for _, name := range d.Moves[i].Nodes {
			gone[name] = true
		}
	}
	byName := map[string]*cluster.Node{}
	out.Nodes = nil
	for _, n := range p.Nodes {
		if gone[n.Name] {
			for _, pod := range n.Pods {
				pods[pod.PodRef] = pod
			}
			e.giveBack(n)
			continue
		}
		own := *n
		own.Pods, own.Used = slices.Clone(n.Pods), usedOf(n)
		byName[n.Name] = &own
		out.Nodes = append(out.Nodes, &own)
	}
	bind := func(n *cluster.Node, refs []cluster.PodRef) {
		for _, ref := range refs {
			pod := *pods[ref]
			pod.Node = n.Name
			n.Pods = append(n.Pods, &pod)
			n.Used.Add(pod.Class.Requests)
		}
	}
	for i := range d.Moves {
		m := &d.Moves[i]
		for j := range m.NewNodes {
			n := e.nodeOf(&m.NewNodes[j])
			for byName[n.Name] != nil {
				n = e.nodeOf(&m.NewNodes[j])
			}
			byName[n.Name] = n
			bind(n, m.NewNodes[j].Pods)
			out.Nodes = append(out.Nodes, n)
		}
		for _, pl := range m.Placements {
			bind(byName[pl.Node], pl.Pods)
		}
	}
	return &out
}

func usedOf(n *cluster.Node) res.List {
	used := res.List{}
	used.Add(n.Used)
	if n.Used == nil {
		for _, pod := range n.Pods {
			used.Add(pod.Class.Requests)
		}
	}
	return used
}

// giveBack takes the node off what its pool uses.
func (e *Env) giveBack(n *cluster.Node) {
	for _, pool := range e.Problem.Pools {
		if pool.Name != n.Pool || pool.Used == nil {
			continue
		}
		pool.Used[res.Nodes] = max(0, pool.Used[res.Nodes]-1)
		for k, x := range n.Capacity {
			pool.Used[k] = max(0, pool.Used[k]-x)
		}
	}
}
