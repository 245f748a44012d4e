package cluster

import (
	"github.com/kerf-sh/kerf/internal/catalog"
	"github.com/kerf-sh/kerf/internal/requirement"
)

// Pricer fills in what nodes cost per hour, from the offerings of their pools. It remembers its answers, so that a node
// whose value and price did not change keeps its pointer.
//
// Concurrency: not safe.
type Pricer struct {
	known map[*Node]*Node
}

// Apply returns the nodes with their prices. Nodes that it knows no price of, those of no pool among them, are returned
// as they are. An offering that can't be bought any more still tells what it costs.
//
// Cost: one look-up per node.
func (x *Pricer) Apply(nodes []*Node, pools []*Pool) []*Node {
	types := map[string]map[string]*catalog.Type{}
	for _, p := range pools {
		byName := make(map[string]*catalog.Type, len(p.Types))
		for _, t := range p.Types {
			byName[t.Name] = t
		}
		types[p.Name] = byName
	}
	known := make(map[*Node]*Node, len(nodes))
	out := make([]*Node, len(nodes))
	for i, n := range nodes {
		out[i] = x.priced(n, types[n.Pool][n.InstanceType])
		if out[i] != n {
			known[n] = out[i]
		}
	}
	x.known = known
	return out
}

func (x *Pricer) priced(n *Node, t *catalog.Type) *Node {
	price, ok := priceOf(n, t)
	if !ok || price == n.Price {
		return n
	}
	if last := x.known[n]; last != nil && last.Price == price {
		return last
	}
	with := *n
	with.Price = price
	return &with
}

// priceOf is the price of the offering that the node came of: the cheapest of those that its zone, capacity type and
// reservation leave, which is one as a rule.
func priceOf(n *Node, t *catalog.Type) (catalog.MicroUSD, bool) {
	best, found := catalog.MicroUSD(0), false
	if t == nil {
		return 0, false
	}
	for _, o := range t.Offerings {
		unknown := o.Price == 0 && o.CapacityType != catalog.Reserved
		if unknown || o.Zone != n.Zone || o.CapacityType != n.CapacityType {
			continue
		}
		if id := n.Labels[requirement.ReservationID]; id != "" && o.ReservationID != id {
			continue
		}
		if !found || o.Price < best {
			best, found = o.Price, true
		}
	}
	return best, found
}
