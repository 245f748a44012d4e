package overview

import "github.com/kerf-sh/kerf/internal/engine/catalog"

// Pods counts the pods of a whole overview: those on nodes, DaemonSets' included, and those that wait. A pod that is being moved counts
// where it runs.
func (d *Document) Pods() (running, waiting int) {
	for i := range d.Waiting {
		waiting += d.Waiting[i].Count
	}
	for _, n := range d.Nodes {
		running += n.Running()
	}
	return running, waiting + d.WaitingMore
}

// Running is how many pods are on the node, DaemonSets' included.
func (n *Node) Running() int { return int(n.Pods.Used) - n.Expected }

// dear is how much more than usual nodes cost, by the usual prices of their NodeClaims.
func dear(nodes []*known, usual map[string]catalog.MicroUSD) (sum catalog.MicroUSD) {
	if len(usual) == 0 {
		return 0
	}
	for _, k := range nodes {
		if price, ok := usual[k.from.Claim]; ok && k.from.Launched {
			sum += max(0, k.price-price)
		}
	}
	return sum
}
