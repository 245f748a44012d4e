package pack

import "slices"

// hostState counts pods of groups by host on one node.
type hostState struct {
	at []hostCount
}

type hostCount struct {
	group   int
	matched int
	owners  int
	// skew is the least maxSkew of the bearers of a spread that are there; 0: there are none.
	skew int
}

func (h hostState) clone() hostState { return hostState{slices.Clone(h.at)} }

func (h *hostState) get(group int) hostCount {
	if h != nil {
		for _, c := range h.at {
			if c.group == group {
				return c
			}
		}
	}
	return hostCount{}
}

func (h *hostState) add(group, matched, owners int) {
	for i := range h.at {
		if h.at[i].group == group {
			h.at[i].matched += matched
			h.at[i].owners += owners
			return
		}
	}
	h.at = append(h.at, hostCount{group: group, matched: matched, owners: owners})
}

// bear notes that a pod with a spread of this maxSkew is there. The group has been added before.
func (h *hostState) bear(group, maxSkew int) {
	for i := range h.at {
		if at := &h.at[i]; at.group == group && (at.skew == 0 || maxSkew < at.skew) {
			at.skew = maxSkew
		}
	}
}

// hostCap is how many pods of the class, at most want, the constraints by host allow on a node in the given state.
func (s *solver) hostCap(c *class, h *hostState, want int) int {
	n := want
	for i := range c.topo.host {
		d := &c.topo.host[i]
		have := h.get(d.group.id)
		switch d.group.kind {
		case spreading:
			if d.self {
				n = min(n, d.maxSkew+d.floor-have.matched)
			} else if have.matched > d.maxSkew+d.floor {
				return 0
			}
		case repelling:
			if have.matched > 0 {
				return 0
			}
			if d.self {
				n = min(n, 1)
			}
		case attracting:
			if have.matched == 0 && (!d.self || d.group.total > 0) {
				return 0
			}
		}
	}
	for _, g := range c.topo.hostIn {
		if g.soft {
			continue // binds its bearers only
		}
		switch g.kind {
		case repelling:
			if h.get(g.id).owners > 0 {
				return 0
			}
		case spreading:
			// Bearers of the constraint stay schedulable in any order only if others, even those with a laxer one, leave them
			// their place. That is no reason to leave out a pod that has no such constraint and no other place.
			if have := h.get(g.id); have.skew > 0 && (!s.squeezing || c.owns(g)) {
				n = min(n, have.skew-have.matched)
			}
		}
	}
	return max(n, 0)
}

func (c *class) owns(g *group) bool {
	return slices.ContainsFunc(c.topo.host, func(d demand) bool { return d.group == g }) ||
		slices.ContainsFunc(c.topo.wide, func(d demand) bool { return d.group == g })
}

func (s *solver) hostAdd(c *class, h *hostState, n int) {
	for _, g := range c.topo.hostIn {
		h.add(g.id, n, 0)
	}
	for i := range c.topo.host {
		d := &c.topo.host[i]
		if d.group.kind == attracting {
			continue
		}
		h.add(d.group.id, 0, n)
		if d.group.kind == spreading && len(d.nodes) == 0 {
			h.bear(d.group.id, d.maxSkew)
		}
	}
}

// perHost is how many pods of the class a node takes at most because of constraints by host; 0 when there is no limit.
func (s *solver) perHost(c *class) int {
	least := 0
	for i := range c.topo.host {
		d := &c.topo.host[i]
		most := 0
		switch {
		case d.group.kind == repelling && d.self:
			most = 1
		case d.group.kind == spreading && d.self:
			most = d.maxSkew
		}
		if most > 0 && (least == 0 || most < least) {
			least = most
		}
	}
	if len(c.src.HostPorts) > 0 {
		least = 1
	}
	return least
}

// forcedNodes is how many new nodes the pods that are left need at least because of the item's constraints by host.
func (s *solver) forcedNodes(it *podGroup) int {
	per := s.perHost(it.class)
	if per == 0 {
		return 1
	}
	forced := (it.left + per - 1) / per
	for i := range it.class.topo.host {
		d := &it.class.topo.host[i]
		if !d.self || d.group.kind == attracting {
			continue
		}
		left := 0
		for _, other := range s.bearers[d.group.id] {
			for _, x := range other.items {
				left += x.left
			}
		}
		most := 1
		if d.group.kind == spreading {
			most = d.maxSkew
		}
		forced = max(forced, (left+most-1)/most)
	}
	return forced
}
