package disrupt

import (
	"cmp"
	"slices"

	"github.com/kerf-sh/kerf/internal/catalog"
	"github.com/kerf-sh/kerf/internal/pack"
)

// replace lets nodes go whose pods are carried for less by new machines, together with what room is left on others.
//
// Each node is tried by itself. Then sets are grown from the node with the most to gain, each taking in the next ones of
// its pool, and the size that saves the largest part of what the set costs is chosen.
func (s *search) replace() {
	for _, n := range s.managed() {
		if s.ended() {
			return
		}
		if n.candidate() && !n.tried {
			s.tryAlone(n)
		}
	}
	s.growSets(func(a, b *nodeState) int {
		return cmp.Or(cmp.Compare(a.src.Pool, b.src.Pool), cmp.Compare(a.usage(), b.usage()), byName(a, b))
	})
	if len(s.pools) > 1 {
		s.growSets(func(a, b *nodeState) int { return cmp.Or(cmp.Compare(a.usage(), b.usage()), byName(a, b)) })
	}
}

// tryAlone finds what replacing the node by itself would save, and why it can't be if it can't.
func (s *search) tryAlone(n *nodeState) {
	n.tried, n.movable = true, false
	one := []*nodeState{n}
	if n.price == 0 {
		n.reason = Reason{Code: PriceUnknown}
		return
	}
	a := s.ask(one, true)
	n.reason, n.saves = s.reasonOf(one, a), 0
	n.movable = a.Refusal != pack.NoPlace && a.Refusal != pack.OthersFollow
	if a.Refusal != pack.Fine {
		return
	}
	n.saves = n.price - a.Price
	n.reason = s.forbids(one, a.Price, a.NewNodes)
}

// promising is the share of its price that a node must be able to save at most for sets to be grown from it.
const promising = 0.02

// setSizes are the sizes of sets that are compared.
var setSizes = []int{1, 2, 3, 4, 6, 8, 12, 16, 24}

// seeds is from how many nodes, about, sets are grown in vain before others are left for the next round.
const seeds = 250

// growSets goes through the nodes in order and commits the best set that starts at each. Where nodes are many, a start
// that leads nowhere lets the search skip some; which ones changes with the generation of the cluster.
func (s *search) growSets(compare func(a, b *nodeState) int) {
	var nodes []*nodeState
	for _, n := range s.managed() {
		if n.candidate() && n.movable {
			nodes = append(nodes, n)
		}
	}
	slices.SortFunc(nodes, compare)
	stride := 1 + len(nodes)/seeds
	for i := int(s.p.Cluster.Generation % uint64(stride)); i < len(nodes); {
		if s.ended() {
			return
		}
		n := nodes[i]
		switch {
		case !n.candidate() || n.usage() > 1-promising:
			i++
		case s.bestSet(nodes[i:]) == nil:
			i += stride
		}
	}
}

// bestSet tries sets of the first candidates and makes the best of them a move; nil if none saves anything.
func (s *search) bestSet(nodes []*nodeState) []*nodeState {
	var line []*nodeState
	for _, n := range nodes {
		if len(line) == setSizes[len(setSizes)-1] {
			break
		}
		if n.candidate() {
			line = append(line, n)
		}
	}
	var best []*nodeState
	share, worse := 0.0, 0
	ratio, rising := 0.0, 0
	for _, size := range setSizes {
		if size > len(line) || s.ended() || (worse == 2 && best != nil) {
			break
		}
		set := line[:size]
		if !s.allowed(set, Underutilized) {
			break
		}
		worse++
		a := s.ask(set, true)
		old, _ := total(set)
		if now := float64(a.Price) / float64(max(1, old)); now > ratio {
			ratio, rising = now, rising+1
		} else {
			ratio, rising = now, 0
		}
		if rising == 3 && best == nil && len(nodes) > seeds {
			break // the larger the set, the worse
		}
		if a.Refusal != pack.Fine || s.forbids(set, a.Price, a.NewNodes).Code != "" {
			continue
		}
		if got := float64(old-a.Price) / float64(max(1, old)); got > share*1.02 {
			best, share, worse = slices.Clone(set), got, 0
		}
	}
	if best == nil {
		return nil
	}
	if a := s.ask(best, true); a.Refusal != pack.Fine {
		return nil
	}
	s.keep(best, Move{Cause: Underutilized})
	return best
}

// lookAtRest finds for nodes that stay because something outside forbids it what letting them go would save.
func (s *search) lookAtRest() {
	for _, n := range s.managed() {
		if s.ended() {
			return
		}
		switch {
		case n.gone, n.target:
		case len(n.blocks) > 0:
			s.lookAtBlocked(n)
		case n.saves > 0 && n.reason.Code == "" && !s.allowed([]*nodeState{n}, Underutilized):
			n.reason = Reason{Code: BudgetUsed}
		case n.saves > 0 && n.reason.Code == "":
			s.tryAlone(n) // what it would have saved may be taken by others now
			if n.reason.Code == "" {
				s.ask([]*nodeState{n}, true)
				s.keep([]*nodeState{n}, Move{Cause: Underutilized})
			}
		}
	}
}

func (s *search) lookAtBlocked(n *nodeState) {
	if n.empty {
		n.saves = n.price
		return
	}
	if n.price == 0 {
		return
	}
	if a := s.ask([]*nodeState{n}, true); a.Refusal == pack.Fine {
		n.saves = max(0, n.price-catalog.MicroUSD(a.Price))
	}
}
