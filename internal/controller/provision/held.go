package provision

import (
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
)

// withHeld lets pods count that stay on a node which is going, because an annotation or a budget holds them there. Plans leave such
// nodes out, for nothing may be put there and most of its pods are to be placed anew. But the scheduler counts what runs there for
// spreads and affinity as long as it does: without it, pods would be sent where it refuses them.
func withHeld(nodes []*cluster.Node, pending []*cluster.Pod, full *standIns) []*cluster.Node {
	full.turn()
	if !slices.ContainsFunc(nodes, func(n *cluster.Node) bool { return n.Deleting && len(n.Pods) > 0 }) {
		return nodes
	}
	// Those that wait, or have room on a node that stays, are counted there.
	leaves := make(map[string]bool, len(pending))
	for _, p := range pending {
		leaves[p.UID] = true
	}
	for _, n := range nodes {
		if n.Deleting {
			continue
		}
		for _, p := range n.Pods {
			if p.Node != n.Name {
				leaves[p.UID] = true
			}
		}
	}
	out := slices.Clone(nodes)
	for i, n := range out {
		if !n.Deleting {
			continue
		}
		held := slices.DeleteFunc(slices.Clone(n.Pods), func(p *cluster.Pod) bool { return leaves[p.UID] || p.Daemon || p.Mirror })
		if len(held) == 0 {
			continue
		}
		x := *n
		x.Deleting, x.Pods, x.Allocatable = false, held, n.Used
		out[i] = full.put(n, &x)
	}
	return out
}

// standIns are what takes the place of nodes in problems. It is the same from one problem to the next while the node and its pods are: a
// problem in which nothing has changed is not solved again.
type standIns struct {
	last, next map[*cluster.Node]*cluster.Node
}

// turn begins a problem.
func (s *standIns) turn() { s.last, s.next = s.next, map[*cluster.Node]*cluster.Node{} }

// put is what takes the place of a node: x, or what did before if its pods are the same.
func (s *standIns) put(n, x *cluster.Node) *cluster.Node {
	if before := s.last[n]; before != nil && slices.Equal(before.Pods, x.Pods) {
		x = before
	}
	s.next[n] = x
	return x
}
