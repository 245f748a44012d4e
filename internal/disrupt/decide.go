package disrupt

import (
	"cmp"
	"slices"
	"sync"

	"github.com/kerf-sh/kerf/internal/catalog"
	"github.com/kerf-sh/kerf/internal/pack"
)

// Decide looks at every node that is allowed to go and chooses moves that save money.
//
// Three searches are made, each by itself. One lets the emptiest nodes go first and does not fill up nodes that would be
// cheaper to replace; the next starts with what costs most for each pod it disturbs and fills any node; the last packs the
// pods of all badly used nodes on new machines. The one that leaves the lowest bill wins, unless another leaves almost the
// same and disturbs less.
//
// Cost: grows with the pods of the candidates; see Options.Work.
// Concurrency: safe; p is only read.
func Decide(p *Problem) *Decision {
	if p == nil || p.Cluster == nil {
		return &Decision{}
	}
	found := searchAll(p)
	best := choose(found)
	d := best.decision()
	for _, s := range found {
		if s != best {
			d.Stats.Questions += s.stats.Questions
			d.Stats.Work += s.work()
		}
	}
	return d
}

// searchAll makes the searches, in their order. As long as nothing was found they go on with the same snapshot.
func searchAll(p *Problem) []*search {
	w := pack.NewWhatIf(p.Cluster)
	var found []*search
	for o := emptiestFirst; o <= anew; o++ {
		s := newSearch(p, w)
		s.chooseTargets(o)
		if o == dearestFirst && slices.Equal(s.targets, found[0].targets) {
			continue // the same questions in another order
		}
		s.run(o)
		found = append(found, s)
		if len(s.moves) > 0 && o < anew {
			return append(found, searchRest(p, o+1)...)
		}
	}
	return found
}

// searchRest makes the searches from the order on side by side.
func searchRest(p *Problem, from order) []*search {
	found := make([]*search, anew-from+1)
	var wait sync.WaitGroup
	for i := range found {
		wait.Go(func() {
			s := newSearch(p, pack.NewWhatIf(p.Cluster))
			s.chooseTargets(from + order(i))
			s.run(from + order(i))
			found[i] = s
		})
	}
	wait.Wait()
	return found
}

// choose takes the search that leaves the lowest bill; of those that leave hardly more the one that disturbs least.
func choose(found []*search) *search {
	least := found[0].after()
	for _, s := range found[1:] {
		least = min(least, s.after())
	}
	best := -1
	for i, s := range found {
		if s.after() > least+least*togetherPercent/100 {
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

func (s *search) decision() *Decision {
	d := &Decision{Generation: s.p.Cluster.Generation, Moves: s.moves, Stats: s.stats}
	d.Stats.Work, d.Before = s.work(), s.before()
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
