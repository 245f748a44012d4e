package disrupt

import (
	"cmp"
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
)

// Decide looks at every node that is allowed to go and chooses moves that save money.
//
// There are two ways through the nodes (see search.run): the emptiest go first, or the pods of all badly used nodes are packed on new
// nodes. Where much could be saved that is the first way to be tried. Where the moves that it finds leave something to be saved, the
// other way is tried by itself as well, and the one that leaves the lower bill wins; of two equal bills the one that disturbs less.
//
// Cost: grows with the pods of the candidates; see Options.Work.
// Concurrency: safe; p is only read.
//
// Where the question about some nodes panics, they are kept for that reason, and the others are decided on.
func Decide(p *Problem) *Decision {
	if p == nil || p.Cluster == nil {
		return &Decision{}
	}
	d, _ := decide(p, &pack.Questions{})
	return d
}

// muchSlack is the part of the bill above which it is likely that hardly any node is worth keeping, littleSlack the one
// below which no other way is tried.
const muchSlack, littleSlack = 0.4, 0.1

// decide is Decide, and the search that the moves are from.
func decide(p *Problem, q *pack.Questions) (*Decision, *search) {
	s := newSearch(p, q.WhatIf(p.Cluster))
	anew := s.slack() > muchSlack
	s.run(anew)
	broken := s.isBroken()
	if (anew || len(s.moves) > 0) && float64(s.spare()) >= littleSlack*float64(s.after()) {
		other := newSearch(p, q.WhatIf(p.Cluster))
		other.run(!anew)
		broken = broken || other.isBroken()
		if anew { // of two that come to the same, that in which the emptiest nodes go first, as it asks about each by itself
			s, other = other, s
		}
		if other.after() < s.after() || other.after() == s.after() && other.disturbed() < s.disturbed() {
			s = other
		}
	}
	s.priceTheGate()
	if broken || s.isBroken() {
		q.Forget()
	}
	return s.decision(s.managed()), s
}

// after is what the managed nodes cost when all moves are carried out.
func (s *search) after() catalog.MicroUSD { return s.before() - s.saving() }

func (s *search) saving() catalog.MicroUSD {
	sum := catalog.MicroUSD(0)
	for i := range s.moves {
		sum += s.moves[i].Saving
	}
	return sum
}

func (s *search) disturbed() int64 {
	sum := int64(0)
	for i := range s.moves {
		sum += s.moves[i].Disruption
	}
	return sum
}

// before is what all managed nodes cost.
func (s *search) before() catalog.MicroUSD {
	price, _ := total(s.managed())
	return price
}

// decision is the moves, and for each of the nodes that stays why.
func (s *search) decision(nodes []*nodeState) *Decision {
	d := &Decision{Generation: s.p.Cluster.Generation, Currency: s.p.Cluster.Options.Currency, Moves: s.moves, Next: s.next, Stats: s.stats, Scores: s.scores}
	d.Stats.Work, d.Before = s.work(), s.before()
	for _, n := range nodes {
		if n.gone {
			continue
		}
		if !n.empty && n.reason.Code == BudgetUsed {
			d.OverBudget += n.saves
		}
		k := n.kept()
		if len(k.Reasons) == 0 {
			k.Reasons = []Reason{{Code: NotLookedAt}}
			d.Stats.NotLookedAt++
		}
		d.Kept = append(d.Kept, k)
	}
	slices.SortFunc(d.Kept, func(a, b Kept) int { return cmp.Compare(a.Node, b.Node) })
	d.After = s.after()
	d.Spare = s.spare()
	s.land(d.Moves)
	for i := range d.Moves {
		d.Moves[i].Why = why(&d.Moves[i])
	}
	d.setWaits(&s.p.Options)
	d.setOnto(s.p.Nodes, s.underutilizedTargets(d))
	return d
}

// kept is the node with what was found about it; without reasons if nothing was.
func (n *nodeState) kept() Kept {
	k := Kept{Node: n.src.Name, Reasons: slices.Clip(n.blocks), Saves: n.saves}
	switch {
	case n.target:
		k.Reasons, k.Saves = append(k.Reasons, Reason{Code: TakesPods}), 0
	case n.reason.Code != "":
		k.Reasons = append(k.Reasons, n.reason)
	}
	return k
}

// mostLandingScores bounds what is spent on foreseeing where the scheduler puts pods: some 0.2 s of one core
// (BenchmarkLand). Beyond it the moves keep the places that the search found.
const mostLandingScores = 4_000_000

// land gives the pods that move to nodes which stay the places where kube-scheduler is expected to put them. The moves stay
// what they are: which nodes go, what is launched, and what it costs.
func (s *search) land(moves []Move) {
	before := make([][]plan.Placement, len(moves))
	for i := range moves {
		before[i] = moves[i].Placements
	}
	if after, ok := s.w.Land(before, mostLandingScores); ok {
		for i := range moves {
			moves[i].Placements = after[i]
		}
	}
}
