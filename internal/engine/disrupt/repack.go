package disrupt

import (
	"cmp"
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
)

const (
	// wellUsed is the share of its price above which a node stays as it is when a cluster is planned anew.
	wellUsed = 0.9
	// mostTogether is how many nodes go by one move. The more there are, the less room is left over on the new nodes that
	// come for them, and the more has to be up before the first can go.
	mostTogether, leastTogether = 400, 25
	// workPerSet, and workPerNode for each node, is what packing the new nodes of a set well may cost if all that it costs could be saved.
	workPerSet = 6_000_000
)

// repack replaces what is badly used as if nothing ran yet: the pods of as many nodes as may go at once are packed on
// new nodes that suit them best, and what room there is on nodes that stay. No pod is moved a second time by that, whereas
// filling nodes first and replacing them later moves many twice.
func (s *search) repack() {
	s.chooseTargets(true)
	nodes := slices.DeleteFunc(s.managed(), func(n *nodeState) bool {
		_, buyable := s.w.Floor(n.id)
		return !buyable || !s.replaceable(n) || n.empty || n.usage() >= wellUsed
	})
	slices.SortFunc(nodes, func(a, b *nodeState) int {
		return cmp.Or(cmp.Compare(a.src.Pool, b.src.Pool), cmp.Compare(a.usage(), b.usage()), byName(a, b))
	})
	for len(nodes) > 0 {
		own := len(nodes)
		if at := slices.IndexFunc(nodes, func(n *nodeState) bool { return n.pool != nodes[0].pool }); at > 0 {
			own = at
		}
		s.replaceTogether(nodes[:own])
		nodes = nodes[own:]
	}
}

// replaceTogether replaces the nodes, all of one pool, or as many as its budget lets go: those that save most. It makes moves of equal
// parts of them, and of smaller ones where that fails. The nodes are dealt out to the parts in turn, so that each part has pods of
// all kinds: what needs memory fills up what needs cores, and the least that the parts can come to is hardly more than what the
// whole can.
func (s *search) replaceTogether(nodes []*nodeState) {
	if left, limited := nodes[0].pool.Allowed[Underutilized]; limited && left < len(nodes) {
		slices.SortFunc(nodes, func(a, b *nodeState) int { return cmp.Or(cmp.Compare(b.savable(), a.savable()), byUsage(a, b)) })
		nodes = nodes[:max(0, left)]
		slices.SortFunc(nodes, byUsage)
	}
	parts := make([][]*nodeState, (len(nodes)+mostTogether-1)/mostTogether)
	for i, n := range nodes {
		parts[i%len(parts)] = append(parts[i%len(parts)], n)
	}
	for _, set := range parts {
		s.replaceSet(set)
	}
}

func (s *search) replaceSet(set []*nodeState) {
	slack := 1 - s.nodeWorth(set)
	if s.ended() || slack < promising {
		return
	}
	work := int64(slack * float64(workPerSet+workPerNode*len(set)))
	switch t := s.try(set, work); {
	case t.fine && t.newNodes == 0: // they can go one by one
	case t.fine:
		s.keep(set, Underutilized)
	case len(set) >= 2*leastTogether && (t.newNodes == 0 || t.ratio <= hopeful):
		s.replaceSet(set[:len(set)/2])
		s.replaceSet(set[len(set)/2:])
	}
}

// nodeWorth is the least that the pods of the nodes cost, as a part of what the nodes do.
func (s *search) nodeWorth(nodes []*nodeState) float64 {
	floor, price := catalog.MicroUSD(0), catalog.MicroUSD(0)
	for _, n := range nodes {
		floor += n.floor
		price += n.price
	}
	return float64(floor) / float64(max(1, price))
}

// slack is the part of what all candidates cost that could be saved at most, as far as prices of resources tell.
func (s *search) slack() float64 {
	nodes := slices.DeleteFunc(s.managed(), func(n *nodeState) bool { return !n.candidate() || n.price == 0 })
	return max(0, 1-s.nodeWorth(nodes))
}
