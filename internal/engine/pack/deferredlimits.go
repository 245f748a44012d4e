package pack

import (
	"slices"
)

// Nearly every NodePool has limits, and nearly none comes near them in one plan. Where a limit may run out, pods are placed
// by rank, and those that are dealt out over domains one by one, which costs a lot more than packing them together. So a
// limit that leaves much more than the pods ask for is deferred, and the plan is held against it when it stands. If it does
// not keep within it, the problem is solved again with the pool's limits heeded from the start.

// plenty is how many times over a limit must leave what the pending pods ask for to be deferred at first.
const plenty = 3

// deferLimits takes the limits off the pool for now, if they leave plenty.
func (s *solver) deferLimits(p *pool) {
	p.deferred, p.nodesDeferred = nil, -1
	if s.moving != nil || !p.hasLimits() || s.memory.learned.tight[p.src.Name] {
		return
	}
	if p.nodesLeft >= 0 && p.nodesLeft < int64(s.stats.Pods) {
		return
	}
	for _, l := range p.limited {
		if l.left < plenty*s.asked(l.index)+p.largest(l.index) {
			return
		}
	}
	p.deferred, p.nodesDeferred = p.limited, p.nodesLeft
	p.limited, p.nodesLeft = nil, -1
	p.refreshAffordable()
}

// asked is what all pending pods ask for of the resource.
func (s *solver) asked(r int) int64 {
	sum := int64(0)
	for _, c := range s.classes {
		sum += c.req[r] * int64(len(c.pods))
	}
	return sum
}

// largest is the most that any type of the pool has of the resource.
func (p *pool) largest(r int) int64 {
	most := int64(0)
	for t := range p.cat.All().Each {
		most = max(most, p.cat.Capacity[t][r])
	}
	return most
}

// exceedsLimits reports whether the new nodes take so much of a deferred limit that heeding it might have ruled out any type for
// one of them. Such limits are not deferred again.
func (s *solver) exceedsLimits() bool {
	any := false
	for _, p := range s.pools {
		if (len(p.deferred) > 0 || p.nodesDeferred >= 0) && s.overdraws(p) {
			if s.memory.learned.tight == nil {
				s.memory.learned.tight = map[string]bool{}
			}
			s.memory.learned.tight[p.src.Name] = true
			any = true
		}
	}
	return any
}

// overdraws judges the limits of one pool. Those of its parts, where addresses in a zone are short, are one and the same.
func (s *solver) overdraws(p *pool) bool {
	left, nodes := slices.Clone(p.deferred), p.nodesDeferred
	for _, m := range s.newNodes {
		if m.pool.src != p.src || m.gone {
			continue
		}
		nodes--
		for i := range left {
			left[i].left -= p.least(m.types, left[i].index)
		}
	}
	if p.nodesDeferred >= 0 && nodes < 0 {
		return true
	}
	return slices.ContainsFunc(left, func(l limit) bool { return l.left < p.largest(l.index) })
}
