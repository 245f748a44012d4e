package disrupt

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// byUsage puts first what saves the largest part of its price at most, and of those what saves most. Nodes of a kind stand side by side: a
// line that is alike the one before is passed over.
func byUsage(a, b *nodeState) int {
	return cmp.Or(cmp.Compare(a.usage(), b.usage()), cmp.Compare(b.savable(), a.savable()), cmp.Compare(a.kind, b.kind), byName(a, b))
}

// kindOf is the same for nodes of which letting one go comes to the same as letting another go: same new node, same pods, as far as
// a scheduler can tell. Labels of new nodes beyond zone and capacity type are left out.
func (s *search) kindOf(n *nodeState) string {
	kind := []string{n.src.Pool, n.src.Zone, n.src.CapacityType, n.src.InstanceType, fmt.Sprint(n.price, n.cost, s.p.Options.lifetime(*n.in))}
	var classes []string
	for _, pod := range n.src.Pods {
		if pod.Class != nil {
			classes = append(classes, pod.Class.ID)
		}
	}
	slices.Sort(classes)
	return strings.Join(append(kind, classes...), "|")
}

// starts are the nodes that may go in sets, in their order.
func (s *search) starts() []*nodeState {
	nodes := slices.DeleteFunc(s.managed(), func(n *nodeState) bool { return !n.candidate() || !n.movable })
	slices.SortFunc(nodes, byUsage)
	return nodes
}

// growSets goes through the nodes in order, from Options.Start, and commits the best set that starts at each, until so
// many in a row have led nowhere. A start is passed over whose line is alike the last one that led nowhere, and so is a node whose
// pool's budget is used up.
func (s *search) growSets() {
	for _, n := range s.managed() {
		n.kind = s.kindOf(n)
	}
	nodes := s.starts()
	patience := max(patience, len(nodes)/turns)
	left, grew := patience, false
	i := s.p.Options.Start
	var deadEnd []*nodeState
	for i < len(nodes) && !s.ended() {
		n := nodes[i]
		if !n.candidate() || n.usage() > 1-promising || !s.allowed([]*nodeState{n}, Underutilized) {
			i++
			continue
		}
		line := lineOf(nodes[i:])
		switch {
		case s.onlySpot(line), slices.EqualFunc(line, deadEnd, func(a, b *nodeState) bool { return a.kind == b.kind }):
			i++
		case left == 0:
			if !grew {
				s.next = i
			}
			return
		case s.bestSet(line):
			left, deadEnd, grew = patience, nil, true
			s.next = s.p.Options.Start // so that it is found again
		default:
			deadEnd = line
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
