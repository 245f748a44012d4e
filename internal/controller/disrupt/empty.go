package disrupt

import "github.com/kerf-sh/kerf/internal/engine/cluster"

// empty reports whether no pod would need another place if the node went. Pods that are given room on the node count, and
// so do virtual ones that have their room there.
func empty(n *cluster.Node) bool {
	if n.Virtual > 0 {
		return false
	}
	for _, p := range n.Pods {
		if !p.Daemon && !p.Mirror && !p.Terminating {
			return false
		}
	}
	return true
}
