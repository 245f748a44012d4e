package disrupt

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
)

// run makes the search. What is badly used is planned anew at its beginning, or else once the emptiest nodes have gone that may go
// without: then nodes that would be cheaper to replace are not filled up before.
func (s *search) run(anew bool) {
	s.removeEmpty()
	if anew {
		s.repack()
	} else {
		s.chooseTargets(false)
	}
	s.remove()
	s.replace()
	s.evaluateRest()
	if !anew {
		s.repack()
	}
}

// usage is the share of the node's price that its pods are worth; above one when they could not be carried for less.
func (n *nodeState) usage() float64 { return float64(n.floor) / float64(max(1, n.price)) }

// efficiency is what the node is worth when full, per what it costs.
func (n *nodeState) efficiency() float64 { return float64(n.potential) / float64(max(1, n.price)) }

// savable is the most that can be saved on the node.
func (n *nodeState) savable() catalog.MicroUSD { return n.price - min(n.price, n.floor) }

// ratio is what the node costs per unit of disruption.
func (n *nodeState) ratio() float64 { return float64(n.price) / float64(n.cost) }

// tooDear is the efficiency below which a node is better replaced than filled.
const tooDear = 0.8

// chooseTargets lets nodes take pods that are not better removed or replaced: none that is badly used where all of those are
// planned anew, and else none that is too dear.
func (s *search) chooseTargets(anew bool) {
	s.setTargets(func(n *nodeState) bool {
		return n.empty && n.candidate() || s.replaceable(n) && (anew && n.usage() < wellUsed || !anew && n.efficiency() < tooDear)
	})
}

// replaceable reports whether another new node might be launched in the node's place.
func (s *search) replaceable(n *nodeState) bool {
	return n.candidate() && n.price > 0 && (!n.spot() || s.p.Options.SpotToSpot)
}

// ask tries to let the nodes go.
func (s *search) ask(nodes []*nodeState, launch bool) pack.Answer { return s.askWell(nodes, launch, 0) }

// askWell is ask with work spent on packing new nodes well.
func (s *search) askWell(nodes []*nodeState, launch bool, work int64) pack.Answer {
	s.stats.Questions++
	rules := pack.Rules{Launch: launch, Work: work, Certain: certainPercent, SpotToSpot: s.p.Options.SpotToSpot,
		MinTypes: s.p.Options.minSpotTypes(), Keepable: map[string]catalog.MicroUSD{}}
	for _, n := range nodes {
		rules.Old += n.price
		rules.Launch = rules.Launch && n.price > 0
		if known, ok := rules.Keepable[n.src.InstanceType]; !ok || n.price < known {
			rules.Keepable[n.src.InstanceType] = n.price
		}
	}
	if len(nodes) > 1 {
		rules.Saving = rules.Old * togetherPercent / 100
	}
	return s.answer(nodes, rules)
}

// togetherPercent is how much of what they cost several nodes must save that are replaced together. While the new nodes
// start and the old ones are emptied both are paid for: a quarter of an hour or so, the hundredth part of a day.
const togetherPercent = 1

// certainPercent of the saving at best must be certain whatever the launch chooses. The rest is given away for a longer list of
// types, so that there is capacity in one of them.
const certainPercent = 50

// removeEmpty deletes the nodes that no pod needs, dearest first.
func (s *search) removeEmpty() {
	var empty []*nodeState
	for _, n := range s.managed() {
		if n.candidate() && n.empty {
			empty = append(empty, n)
		}
	}
	slices.SortFunc(empty, func(a, b *nodeState) int { return cmp.Or(cmp.Compare(b.price, a.price), byName(a, b)) })
	for _, n := range empty {
		one := []*nodeState{n}
		n.saves, n.tried = n.price, true
		if !s.allowed(one, Empty) {
			n.reason = Reason{Code: BudgetUsed}
			continue
		}
		if a := s.ask(one, false); a.Refusal != pack.Fine {
			n.reason = s.reasonOf(one, a)
			continue
		}
		s.keep(one, Empty)
	}
}

// remove deletes nodes whose pods fit on others, each by itself, the emptiest first.
func (s *search) remove() {
	nodes := s.managed()
	slices.SortFunc(nodes, func(a, b *nodeState) int {
		return cmp.Or(cmp.Compare(a.usage(), b.usage()), cmp.Compare(b.ratio(), a.ratio()), byName(a, b))
	})
	for _, n := range nodes {
		if !n.candidate() || n.tried {
			continue
		}
		if s.ended() {
			return
		}
		one := []*nodeState{n}
		if a := s.ask(one, false); a.Refusal != pack.Fine {
			continue // replacing it is looked at later
		}
		n.saves = n.price
		if why := s.forbids(one, 0, 0); why.Code != "" {
			n.reason, n.tried = why, true
			continue
		}
		s.keep(one, Underutilized)
	}
}

// forbids says which rule beyond the scheduling of pods forbids the move, given the price of the new nodes.
func (s *search) forbids(nodes []*nodeState, price catalog.MicroUSD, launched int) Reason {
	if !s.allowed(nodes, Underutilized) {
		return Reason{Code: BudgetUsed}
	}
	old, _ := total(nodes)
	if r := s.unbalanced(nodes, old, old-price); r.Code != "" {
		return r
	}
	if r := s.preferred(old - price); r.Code != "" {
		return r
	}
	return s.notPaidBack(nodes, old-price, launched)
}

func total(nodes []*nodeState) (price catalog.MicroUSD, cost int64) {
	for _, n := range nodes {
		price += n.price
		cost += n.cost
	}
	return price, cost
}

// balance is the k of the policy Balanced: the share of the bill that is saved must be at least a k-th of the share of
// the disruption that is caused.
const balance = 2

// leastAsked keeps a score finite where nothing is asked.
const leastAsked = 0.000_000_001

// bestScore is that of moves that disturb next to nothing.
const bestScore = 1000

// unbalanced judges the move for each Balanced pool that loses nodes, its saving split by what the nodes cost.
func (s *search) unbalanced(nodes []*nodeState, old, saving catalog.MicroUSD) Reason {
	for i, n := range nodes {
		p := n.pool
		if p.Policy != Balanced || slices.ContainsFunc(nodes[:i], func(o *nodeState) bool { return o.pool == p }) {
			continue
		}
		price, cost := total(slices.DeleteFunc(slices.Clone(nodes), func(o *nodeState) bool { return o.pool != p }))
		share := float64(saving) * float64(price) / float64(max(1, old)) / float64(max(1, p.price))
		disturbed := float64(cost) / float64(max(1, p.cost))
		asked := disturbed / balance
		s.scores = append(s.scores, Score{Pool: p.Name, Value: min(bestScore, share/max(disturbed, leastAsked)), Approved: share >= asked})
		if share < asked {
			return Reason{Code: NotBalanced, Have: strconv.Itoa(int(100 * share / asked))}
		}
	}
	return Reason{}
}

// preferred compares what the answer given last would save with what the preferences may cost that pods would lose by it:
// staying where they are is what honours them.
func (s *search) preferred(saving catalog.MicroUSD) Reason {
	preferences, worth, forbidden := s.w.Declined()
	if len(preferences) == 0 || !forbidden && saving > worth {
		return Reason{}
	}
	return Reason{Code: SavesTooLittle, Want: s.amount(worth), Have: s.amount(saving), Detail: "its pods would lose what they prefer"}
}

// keep makes the answer that was given last a move. Why it is made is worded last: Land changes where its pods go.
func (s *search) keep(nodes []*nodeState, cause Cause) {
	declined, _, _ := s.w.Declined()
	moved := s.w.Keep()
	best := catalog.MicroUSD(0)
	for i := range moved.NewNodes {
		best += moved.NewNodes[i].Price + s.p.Cluster.Options.Upkeep
	}
	for _, pl := range moved.Placements {
		if n := s.named[pl.Node]; n != nil {
			n.target = true
		}
	}
	old, cost := total(nodes)
	for i := range declined {
		declined[i].Cost = max(0, old-best)
	}
	move := Move{Cause: cause, NewNodes: moved.NewNodes, Placements: moved.Placements, Declined: declined,
		Old: old, Saving: old - best, Certain: old - moved.Worst, Disruption: cost}
	for _, n := range nodes {
		move.Nodes = append(move.Nodes, n.src.Name)
		n.gone = true
		for cause := range n.pool.Allowed { // it counts against all
			n.pool.Allowed[cause]--
		}
	}
	slices.Sort(move.Nodes)
	s.moves = append(s.moves, move)
}

// why is the reason for a move.
func why(m *Move) string {
	if len(m.Placements)+len(m.NewNodes) == 0 {
		return "no pods need it"
	}
	kept, launched := 0, 0
	for _, pl := range m.Placements {
		kept += len(pl.Pods)
	}
	for i := range m.NewNodes {
		launched += len(m.NewNodes[i].Pods)
	}
	others := fmt.Sprintf("%s is on %s", plan.Count(kept, "pod"), plan.Count(len(m.Placements), "other node"))
	if len(m.NewNodes) == 0 {
		return "room for its " + others
	}
	var types []string
	for i := range m.NewNodes {
		types = append(types, m.NewNodes[i].Types[0].Name)
	}
	text := fmt.Sprintf("%s can be carried by %s", plan.Count(launched, "pod"), strings.Join(types, " and "))
	if m.Cause == Underutilized {
		text += " for less"
	}
	if kept > 0 {
		text += ", and room for " + others
	}
	return text
}

// amount writes a price in the currency of the problem.
func (s *search) amount(m catalog.MicroUSD) string { return s.p.Cluster.Options.Currency.Amount(m) }

// reasonOf words a refusal for the nodes that were tried together.
func (s *search) reasonOf(nodes []*nodeState, a pack.Answer) Reason {
	old, _ := total(nodes)
	switch a.Refusal {
	case pack.NoPlace:
		return Reason{Code: PodHasNoPlace, Pod: podName(nodes, a.Class)}
	case pack.NotCheaper:
		return Reason{Code: NotCheaper, Want: s.amount(old), Have: s.amount(a.Price), Detail: s.lately(nodes)}
	case pack.SpotToSpot:
		return Reason{Code: SpotToSpotOff, Want: strconv.Itoa(len(nodes) - 1), Have: s.amount(old - a.Price)}
	case pack.FewTypes:
		return Reason{Code: FewSpotTypes, Want: strconv.Itoa(s.p.Options.minSpotTypes()), Have: strconv.Itoa(a.Have),
			Detail: fmt.Sprintf("replacing it would save %s/h", s.amount(old-a.Price))}
	case pack.FewValues:
		return Reason{Code: FewValues}
	case pack.LimitReached:
		return Reason{Code: PoolLimit}
	case pack.NoAddresses:
		return Reason{Code: NoAddresses, Have: a.Zone}
	case pack.OthersFollow:
		return Reason{Code: OthersFollow}
	}
	return Reason{}
}
