package disrupt

import (
	"math"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/pack"
)

// replace lets nodes go whose pods are carried for less by new nodes, together with what room is left on others.
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
	s.growSets()
}

// tryAlone finds what replacing the node by itself would save, and why it can't be if it can't.
func (s *search) tryAlone(n *nodeState) {
	n.tried, n.movable = true, false
	one := []*nodeState{n}
	if n.price == 0 {
		n.reason = Reason{Code: PriceUnknown}
		if n.src.CapacityType == catalog.Reserved {
			n.reason = Reason{Code: NotCheaper, Want: s.amount(0), Have: s.amount(0)} // it is paid for anyway
		}
		return
	}
	a := s.ask(one, true)
	n.reason, n.saves = s.reasonOf(one, a), 0
	n.movable = a.Refusal != pack.NoPlace && a.Refusal != pack.OthersFollow
	switch a.Refusal {
	case pack.SpotToSpot, pack.FewTypes:
		n.saves = n.price - a.Price // were it not for the rules about spot
	case pack.Fine:
		n.saves = n.price - a.Price
		n.reason = s.forbids(one, a.Price, a.NewNodes)
	}
}

// promising is the share of its price that a node must be able to save at most for sets to be grown from it.
const promising = 0.02

// setSizes are the sizes of sets that are compared.
var setSizes = []int{1, 2, 3, 4, 6, 8, 12, 16, 24}

// patience is how many starts in a row may lead nowhere before the rest, which saves less, is left to the decisions that
// follow; where there are very many it is more, so that all have their turn in so many decisions. How many does not move the
// bill: BenchmarkRounds ends at the same gap with ten times as many, for up to twice the work.
const patience, turns = 6, 50

// workPerNode is what packing the new nodes of a set well may cost, for each of its nodes.
const workPerNode = 20_000

// bestSet tries sets of the first nodes and makes the best of them a move; it reports whether one saves anything.
func (s *search) bestSet(line []*nodeState) bool {
	best, nearest := trial{ratio: math.Inf(1)}, trial{ratio: math.Inf(1)}
	worse := 0
	for _, size := range setSizes {
		if size > len(line) || s.ended() || (worse == 2 && best.size > 0) {
			break
		}
		if s.onlySpot(line[:size]) {
			continue
		}
		t := s.try(line[:size], 0)
		worse++
		if t.fine && t.ratio < best.ratio*0.98 {
			best, worse = t, 0
		}
		if t.newNodes > 1 && t.ratio < nearest.ratio {
			nearest = t
		}
	}
	if nearest.ratio < min(hopeful, best.ratio*1.02) { // it may be the best when work is spent on packing its new nodes
		set := line[:nearest.size]
		if t := s.try(set, int64(len(set))*workPerNode); t.fine && t.ratio < best.ratio {
			s.keep(set, Underutilized)
			return true
		}
	}
	if best.size == 0 || !s.try(line[:best.size], 0).fine {
		return false
	}
	s.keep(line[:best.size], Underutilized)
	return true
}

// lineOf is the first candidates of the nodes, as many as the largest set has, and of each pool no more than its budget lets go.
func lineOf(nodes []*nodeState) (line []*nodeState) {
	going := map[*poolState]int{}
	for _, n := range nodes {
		if len(line) == setSizes[len(setSizes)-1] {
			break
		}
		left, limited := n.pool.Allowed[Underutilized]
		if n.candidate() && (!limited || going[n.pool] < left) {
			going[n.pool]++
			line = append(line, n)
		}
	}
	return line
}

// hopeful is how much of the old price new nodes may cost for packing them better to be tried.
const hopeful = 1.06

// trial is what letting a set go came to.
type trial struct {
	size, newNodes int
	fine           bool
	ratio          float64 // what the new nodes cost, as a part of what the nodes do
}

// try asks for the set, spending work on packing, and judges the answer.
func (s *search) try(set []*nodeState, work int64) trial {
	a := s.askWell(set, true, work)
	old, _ := total(set)
	return trial{size: len(set), newNodes: a.NewNodes, ratio: float64(a.Price) / float64(max(1, old)),
		fine: a.Refusal == pack.Fine && s.forbids(set, a.Price, a.NewNodes).Code == ""}
}

// evaluateRest finds for nodes that stay because something outside forbids it what letting them go would save.
func (s *search) evaluateRest() {
	for _, n := range s.managed() {
		if s.ended() {
			return
		}
		switch {
		case n.gone, n.target:
		case len(n.blocks) > 0 && n.empty:
			n.saves = n.price
		case len(n.blocks) > 0 && n.price == 0: // what it would save is not known
		case len(n.blocks) > 0:
			if a := s.ask([]*nodeState{n}, true); a.Refusal == pack.Fine {
				n.saves = max(0, n.price-a.Price)
			}
		case n.saves > 0 && n.reason.Code == "" && !s.allowed([]*nodeState{n}, Underutilized):
			n.reason = Reason{Code: BudgetUsed}
		case n.saves > 0 && n.reason.Code == "":
			s.tryAlone(n) // what it would have saved may be taken by others now
			if n.reason.Code == "" {
				s.ask([]*nodeState{n}, true)
				s.keep([]*nodeState{n}, Underutilized)
			}
		}
	}
}
