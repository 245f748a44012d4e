package cluster

import (
	"maps"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// Pricer fills in what nodes cost per hour, from the offerings of their pools, and how many volumes they attach, from
// their types, until they say so themselves. It remembers its answers, so that a node keeps its pointer as long as
// nothing of that changed.
//
// Concurrency: not safe.
type Pricer struct {
	// Least prices nodes at the least that their offerings have cost lately, so that giving one up is not held to save what
	// it costs at this moment alone.
	Least bool

	known map[*Node]*Node
	// names are the types of each list by their names.
	names map[listKey]map[string]*catalog.Type
}

// Apply returns the nodes with what it knows of them. Nodes of no pool are returned as they are. An offering that can't be launched
// any more still tells what it costs. Where a node's own pool does not offer its type, as a static one that is not among the
// pools that are launched from, the least counts that it costs by any other.
//
// Cost: one look-up per node; one per pool for a node of which neither it nor its pool tells the price. A list of types that is new
// is read once.
func (x *Pricer) Apply(nodes []*Node, pools []*Pool) []*Node {
	types := x.byPool(pools)
	known := make(map[*Node]*Node, len(nodes))
	out := make([]*Node, len(nodes))
	for i, n := range nodes {
		if of := types[n.Pool]; n.InstanceType == "" && len(n.Requirements) > 0 {
			out[i] = x.with(n, n.Price, leastAttached(n, of))
		} else {
			out[i] = x.priced(n, of[n.InstanceType], types)
		}
		if out[i] != n {
			known[n] = out[i]
		}
	}
	x.known = known
	return out
}

// byPool are types by their pool and their name.
type byPool map[string]map[string]*catalog.Type

func (x *Pricer) byPool(pools []*Pool) byPool {
	out, names := byPool{}, map[listKey]map[string]*catalog.Type{}
	for _, p := range pools {
		if len(p.Types) == 0 {
			continue
		}
		key := listKey{&p.Types[0], len(p.Types)}
		byName := names[key]
		if byName == nil {
			byName = x.names[key]
		}
		if byName == nil {
			byName = make(map[string]*catalog.Type, len(p.Types))
			for _, t := range p.Types {
				byName[t.Name] = t
			}
		}
		names[key], out[p.Name] = byName, byName
	}
	x.names = names
	return out
}

func (x *Pricer) priced(n *Node, t *catalog.Type, types byPool) *Node {
	price, limits := n.Price, n.AttachLimits
	if t != nil {
		if own, ok := PriceOf(n, t, x.Least); ok {
			price = own
		}
		if limits == nil {
			limits = t.AttachLimits
		}
	}
	if t == nil && price == 0 && n.Pool != "" {
		price = x.elsewhere(n, types)
	}
	return x.with(n, price, limits)
}

// elsewhere is the least that the node's offering costs by the types of any pool; 0 where none has it.
func (x *Pricer) elsewhere(n *Node, types byPool) catalog.MicroUSD {
	least := catalog.MicroUSD(0)
	for _, of := range types {
		t := of[n.InstanceType]
		if t == nil {
			continue
		}
		if price, ok := PriceOf(n, t, x.Least); ok && (least == 0 || price < least) {
			least = price
		}
	}
	return least
}

// with is the node with the price and the limits; the same pointer as the last time if they are the same.
func (x *Pricer) with(n *Node, price catalog.MicroUSD, limits res.List) *Node {
	if price == n.Price && maps.Equal(limits, n.AttachLimits) {
		return n
	}
	if last := x.known[n]; last != nil && last.Price == price && maps.Equal(last.AttachLimits, limits) {
		return last
	}
	with := *n
	with.Price, with.AttachLimits = price, limits
	return &with
}

// leastAttached is what every type attaches that a node may become which is not launched yet.
func leastAttached(n *Node, types map[string]*catalog.Type) res.List {
	var out res.List
	for _, r := range n.Requirements {
		if r.Key != requirement.InstanceType || r.Operator != requirement.In {
			continue
		}
		for _, name := range r.Values {
			t := types[name]
			if t == nil {
				continue
			}
			for driver, most := range t.AttachLimits {
				if least, known := out[driver]; !known || most < least {
					if out == nil {
						out = res.List{}
					}
					out[driver] = most
				}
			}
		}
	}
	return out
}

// PriceOf is the price of the offering of its type that the node came of, or, if least is set, the least that the offering
// lasts at: the cheapest of those that its zone, capacity type and reservation leave, which is one as a rule.
func PriceOf(n *Node, t *catalog.Type, least bool) (catalog.MicroUSD, bool) {
	best, found := catalog.MicroUSD(0), false
	reservation := n.Labels[requirement.ReservationID]
	for i := range t.Offerings {
		o := &t.Offerings[i]
		unknown := o.Price == 0 && o.CapacityType != catalog.Reserved
		if unknown || o.Zone != n.Zone || o.CapacityType != n.CapacityType {
			continue
		}
		if reservation != "" && o.ReservationID != reservation {
			continue
		}
		price := o.Price
		if least {
			price = o.Least()
		}
		if !found || price < best {
			best, found = price, true
		}
	}
	return best, found
}
