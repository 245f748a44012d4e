package pack

import "slices"

// A spread over hosts is measured from the emptiest host that it looks at. That is an empty one as a rule, because such a
// new node may be launched any time. Where no new node that could be launched is looked at, the nodes that are there decide.

// findFloor finds the nodes that a spread over hosts is measured over, if no new node could join them. It reports whether
// there are any.
//
// Source: kube-scheduler's pod topology spread plug-in, v1.36.
func (s *solver) findFloor(d *demand) bool {
	g := d.looks
	if g == nil || g.soft || s.moving != nil {
		return false
	}
	for _, p := range s.pools {
		if p.broken != "" || g.honorTaints && judgeTaints(p.src.Taints, g.tolerations) == barred {
			continue
		}
		for _, r := range g.filter {
			id := s.reqID(r)
			if s.and(p.base, id) != nil || slices.ContainsFunc(p.slots, func(x slot) bool { return s.and(x.shape, id) != nil }) {
				return false
			}
		}
	}
	for _, n := range s.nodes {
		if g.counting(s, n) {
			if n.open {
				d.nodes = nil
				return false // what it will be is not known
			}
			d.nodes = append(d.nodes, n)
		}
	}
	return len(d.nodes) > 0
}

// raiseFloors measures the class's spreads over hosts anew. Counts only grow, so that what was allowed before still is.
func (s *solver) raiseFloors(c *class) {
	for i := range c.topo.host {
		d := &c.topo.host[i]
		if len(d.nodes) == 0 || len(d.nodes) < d.minDomains {
			continue
		}
		d.floor = s.hostOf(d.nodes[0]).get(d.group.id).matched
		for _, n := range d.nodes[1:] {
			d.floor = min(d.floor, s.hostOf(n).get(d.group.id).matched)
		}
	}
}
