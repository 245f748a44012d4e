package disrupt

import (
	"cmp"
	"slices"
)

// growAll grows sets from all nodes together, pool by pool and then across pools.
func (s *search) growAll() {
	s.number()
	s.deadEnds = map[string]bool{}
	s.polish = s.workFor(polishPerNode)
	s.growSets(s.starts(byPool))
	if len(s.pools) > 1 {
		s.polish = s.workFor(polishPerNode)
		s.growSets(s.starts(byUsage))
	}
	if s.grew {
		s.next = s.p.Options.Start // so that it is found again
	}
}

func byPool(a, b *nodeState) int { return cmp.Or(cmp.Compare(a.src.Pool, b.src.Pool), byUsage(a, b)) }

// byUsage puts first what saves the largest part of its price at most, of those what saves most, and likes together.
func byUsage(a, b *nodeState) int {
	return cmp.Or(cmp.Compare(a.usage(), b.usage()), cmp.Compare(b.savable(), a.savable()), cmp.Compare(a.kind, b.kind), byName(a, b))
}

// starts are the nodes that may go in sets, in the order.
func (s *search) starts(compare func(a, b *nodeState) int) []*nodeState {
	var nodes []*nodeState
	for _, n := range s.managed() {
		if n.candidate() && n.movable {
			nodes = append(nodes, n)
		}
	}
	slices.SortFunc(nodes, compare)
	return nodes
}

// growSets goes through the nodes in order, from Options.Start, and commits the best set that starts at each, until so
// many in a row have led nowhere. Starts whose sets are of the same kinds as those of one that led nowhere are passed over.
func (s *search) growSets(nodes []*nodeState) {
	patience := max(patience, len(nodes)/turns)
	left := patience
	i := s.p.Options.Start
	for i < len(nodes) && !s.ended() {
		n := nodes[i]
		if !n.candidate() || n.usage() > 1-promising {
			i++
			continue
		}
		line := s.line(nodes[i:], setSizes[len(setSizes)-1])
		kinds := kindsOf(line)
		switch {
		case s.deadEnds[kinds], s.onlySpot(line):
			i++
		case left == 0:
			s.abandon(i)
			return
		case s.bestSet(line, len(nodes) > 250):
			left, s.grew = patience, true
			clear(s.deadEnds)
		default:
			s.deadEnds[kinds] = true
			i++
			left--
		}
	}
}

// onlySpot reports whether the nodes are all spot and no new spot node may replace them. Each was asked about by itself; what
// else there is that costs less for several of them is not worth looking for.
func (s *search) onlySpot(nodes []*nodeState) bool {
	return !s.p.Options.SpotToSpot && !slices.ContainsFunc(nodes, func(n *nodeState) bool { return !n.spot() })
}

// abandon notes that starts from the number on were not tried.
func (s *search) abandon(at int) {
	if s.next == 0 || at < s.next {
		s.next = at
	}
}
