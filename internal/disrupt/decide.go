package disrupt

import (
	"cmp"
	"slices"
	"sync"

	"github.com/kerf-sh/kerf/internal/catalog"
)

// Decide looks at every node that is allowed to go and chooses moves that save money.
//
// Two searches run side by side, each by itself. One lets the emptiest nodes go first and does not fill up nodes that
// would be cheaper to replace; the other starts with what costs most for each pod it disturbs and fills any node. The one
// that saves more wins, the first if both save the same for the same disruption.
//
// Cost: grows with the pods of the candidates; see Options.Work.
// Concurrency: safe; p is only read.
func Decide(p *Problem) *Decision {
	if p == nil || p.Cluster == nil {
		return &Decision{}
	}
	searches := []order{emptiestFirst, dearestFirst}
	found := make([]*search, len(searches))
	var wait sync.WaitGroup
	for i, o := range searches {
		wait.Go(func() {
			s := newSearch(p)
			s.run(o)
			found[i] = s
		})
	}
	wait.Wait()
	best := found[0]
	for _, s := range found[1:] {
		saving, most := s.saving(), best.saving()
		if saving > most || saving == most && s.disturbed() < best.disturbed() {
			best = s
		}
	}
	d := best.decision()
	for _, s := range found {
		if s != best {
			d.Stats.Questions += s.stats.Questions
			d.Stats.Work += s.w.Work()
		}
	}
	return d
}

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

func (s *search) decision() *Decision {
	d := &Decision{Generation: s.p.Cluster.Generation, Moves: s.moves, Stats: s.stats}
	d.Stats.Work, d.Before = s.w.Work(), s.before()
	for _, n := range s.managed() {
		if n.gone {
			continue
		}
		k := Kept{Node: n.src.Name, Reasons: n.blocks, Saves: n.saves}
		switch {
		case n.target:
			k.Reasons = append(slices.Clone(k.Reasons), Reason{Code: TakesPods})
			k.Saves = 0
		case n.reason.Code != "":
			k.Reasons = append(slices.Clone(k.Reasons), n.reason)
		case len(k.Reasons) == 0:
			k.Reasons = []Reason{{Code: NotLookedAt}}
			d.Stats.NotLookedAt++
		}
		d.Kept = append(d.Kept, k)
	}
	slices.SortFunc(d.Kept, func(a, b Kept) int { return cmp.Compare(a.Node, b.Node) })
	d.After = d.Before - s.saving()
	return d
}
