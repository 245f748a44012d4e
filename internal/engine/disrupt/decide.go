package disrupt

import (
	"cmp"
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/pack"
)

// Decide looks at every node that is allowed to go and chooses moves that save money.
//
// Up to two searches are made, each by itself; see searchAll for which. One lets the emptiest nodes go first and does not
// fill up nodes that would be cheaper to replace; the other packs the pods of all badly used nodes on new nodes. The one that
// leaves the lower bill wins, unless the other leaves almost the same and disturbs less.
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

// decide is Decide, and the search that the moves are from.
func decide(p *Problem, q *pack.Questions) (*Decision, *search) {
	found := searchAll(p, q)
	best := choose(found)
	best.priceTheGate()
	d := best.decision()
	d.Next = best.next
	for _, s := range found {
		if s != best {
			d.Stats.Questions += s.stats.Questions
			d.Stats.Work += s.work()
		}
		if s.next > 0 && (d.Next == 0 || s.next < d.Next) && !s.grew && !best.grew {
			d.Next = s.next
		}
	}
	if slices.ContainsFunc(found, (*search).isBroken) {
		q.Forget()
	}
	return d, best
}

// searchAll makes the searches, in their order. Where much could be saved all is planned anew first, and that is enough when
// it leaves little to be saved. Where there is little to be saved from the start one search is enough, with what comes of
// planning the rest anew; and a search that found nothing leaves the snapshot to the next one.
func searchAll(p *Problem, q *pack.Questions) []*search {
	w := q.WhatIf(p.Cluster)
	s := newSearch(p, w)
	if s.slack() > muchSlack {
		if s.run(repacking, false); s.slackAfter() < littleSlack {
			return []*search{s}
		}
		return []*search{searchAgain(p, q, emptiestFirst), s}
	}
	little := s.slack() < littleSlack
	s.run(emptiestFirst, false)
	switch {
	case len(s.moves) == 0:
		last := newSearch(p, w)
		last.run(repacking, true)
		return []*search{s, last}
	case little:
		s.continueRepacking()
		return []*search{s}
	}
	return []*search{s, searchAgain(p, q, repacking)}
}

// muchSlack is the part of the bill above which it is likely that hardly any node is worth keeping, littleSlack the one
// below which no other search is made.
const muchSlack, littleSlack = 0.4, 0.1

// searchAgain makes a search that knows nothing of another.
func searchAgain(p *Problem, q *pack.Questions, o order) *search {
	s := newSearch(p, q.WhatIf(p.Cluster))
	s.run(o, false)
	return s
}

// choose takes the search that leaves the lowest bill; of those that leave hardly more the one that disturbs least, if
// only it found anything.
func choose(found []*search) *search {
	least := found[0].after()
	for _, s := range found[1:] {
		least = min(least, s.after())
	}
	best := -1
	for i, s := range found {
		if s.after() > least+least*togetherPercent/100 || len(s.moves) == 0 && s.after() > least {
			continue
		}
		if best < 0 || s.disturbed() < found[best].disturbed() || s.disturbed() == found[best].disturbed() && s.after() < found[best].after() {
			best = i
		}
	}
	return found[best]
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

// before is what all managed nodes cost.
func (s *search) before() catalog.MicroUSD {
	sum := catalog.MicroUSD(0)
	for _, n := range s.nodes {
		if n != nil {
			sum += n.price
		}
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

func (s *search) decision() *Decision { return s.decisionAbout(s.managed()) }

// decisionAbout is the moves, and for each of the nodes that stays why.
func (s *search) decisionAbout(nodes []*nodeState) *Decision {
	d := &Decision{Generation: s.p.Cluster.Generation, Moves: s.moves, Stats: s.stats, Scores: s.scores}
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
	d.After = d.Before - s.saving()
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
	k := Kept{Node: n.src.Name, Reasons: n.blocks, Saves: n.saves}
	switch {
	case n.target:
		k.Reasons = append(slices.Clone(k.Reasons), Reason{Code: TakesPods})
		k.Saves = 0
	case n.reason.Code != "":
		k.Reasons = append(slices.Clone(k.Reasons), n.reason)
	}
	return k
}
