package cluster

import (
	"cmp"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
)

// Lasting prices a cluster for savings that have to last: what could be launched at the most, and what runs at the least that it
// has cost lately. A spot price of a moment is no reason to move pods. It remembers its answers, as its parts do.
//
// Concurrency: not safe.
type Lasting struct {
	nodes Pricer
	types Raiser
}

// Apply returns the nodes at their prices, and changes the types of the pools, which have to be the caller's own.
func (x *Lasting) Apply(nodes []*Node, pools []*Pool) []*Node {
	x.nodes.Least = true
	x.types.Apply(pools)
	return x.nodes.Apply(nodes, pools)
}

// Raiser gives pools their types at prices that a saving may be reckoned with that has to last (catalog.Type.Lasting). It
// remembers its answers: as long as a list of types is the same, so is what it makes of it, and so is each type.
//
// Concurrency: not safe.
type Raiser struct {
	lists map[listKey]raisedList
	types map[*catalog.Type]*catalog.Type // those that are others
}

// listKey tells lists apart by their address: they are shared and never change.
type listKey struct {
	first **catalog.Type
	n     int
}

// Apply changes the types of the pools, which have to be the caller's own.
//
// Cost: one look-up per pool; a look at each offering where a list is new.
func (x *Raiser) Apply(pools []*Pool) {
	lists, fresh := map[listKey]raisedList{}, map[*catalog.Type]*catalog.Type{}
	for _, p := range pools {
		if len(p.Types) == 0 {
			continue
		}
		key := listKey{&p.Types[0], len(p.Types)}
		list, ok := lists[key]
		if !ok {
			if list, ok = x.lists[key]; !ok {
				list = raisedList{p.Types, x.raised(p.Types, fresh)}
				list.note(fresh)
			}
			lists[key] = list
		}
		p.Types = list.to
	}
	if len(fresh) > 0 || len(lists) != len(x.lists) {
		x.types = map[*catalog.Type]*catalog.Type{}
		for _, list := range lists {
			list.note(x.types)
		}
	}
	x.lists = lists
}

// raisedList is a list and what is made of it.
type raisedList struct{ from, to []*catalog.Type }

// note enters the types that are others now.
func (l raisedList) note(types map[*catalog.Type]*catalog.Type) {
	for i, t := range l.from {
		if l.to[i] != t {
			types[t] = l.to[i]
		}
	}
}

// raised is a list as it is not known yet; fresh are the types of this round.
func (x *Raiser) raised(list []*catalog.Type, fresh map[*catalog.Type]*catalog.Type) []*catalog.Type {
	var out []*catalog.Type
	for i, t := range list {
		r := cmp.Or(fresh[t], x.types[t])
		if r == nil {
			r = t.Lasting()
		}
		if r != t && out == nil {
			out = append(make([]*catalog.Type, 0, len(list)), list[:i]...)
		}
		if out != nil {
			out = append(out, r)
		}
	}
	if out == nil {
		return list
	}
	return out
}
