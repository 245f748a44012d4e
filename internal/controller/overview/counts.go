package overview

import "github.com/kerf-sh/kerf/internal/engine/catalog"

// Pods counts the pods of a whole overview: those on nodes, DaemonSets' included, and those that wait. What a node has in use counts
// pods that room is kept for, which wait.
func (d *Document) Pods() (running, waiting int) {
	coming := 0
	for i := range d.Waiting {
		waiting += d.Waiting[i].Count
		if d.Waiting[i].Node != "" {
			coming += d.Waiting[i].Count
		}
	}
	for _, n := range d.Nodes {
		running += int(n.Pods.Used)
	}
	return max(0, running-coming), waiting + d.WaitingMore
}

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
