package bound

import (
	"cmp"
	"math"
	"slices"

	"github.com/kerf-sh/kerf/internal/cluster"
	"github.com/kerf-sh/kerf/internal/pack"
	"github.com/kerf-sh/kerf/internal/requirement"
	"github.com/kerf-sh/kerf/internal/res"
)

// search is the working state of Lower. Everything in it is in an order that does not depend on that of the problem.
type search struct {
	p         *pack.Problem
	placed    []placed
	vocab     *requirement.Vocabulary
	wellKnown map[requirement.Key]bool
	pending   map[cluster.PodRef]bool
	schema    *res.Schema
	scale     []float64 // by resource: how much of it is one unit of the search

	choices    []*cluster.Class // one of each kind of choice
	choiceAlts [][]requirement.Requirements
	choiceOf   []int // by class
	limits     []classLimit
	shared     []sharedLimit
	rows       []row

	sets        [][]uint64
	setIndex    map[string]int
	demands     [][]float64
	offered     map[string]int
	machines    []machine
	ledgers     []ledger
	ledgerIndex map[string]int

	knapsack *knapsack
	master   *master
	budget   int64
	// best are the best values of the rows so far, which no machine's price contradicts, and what they prove.
	best      []float64
	bestBound float64
	converged bool
	stopped   string
	work      Work
}

func newSearch(p *pack.Problem, classes []placed, budget int64) *search {
	s := &search{p: p, placed: classes, vocab: requirement.NewVocabulary(), wellKnown: map[requirement.Key]bool{},
		pending: map[cluster.PodRef]bool{}, setIndex: map[string]int{}, offered: map[string]int{}, ledgerIndex: map[string]int{}, budget: budget}
	s.knapsack = &knapsack{s: s}
	for _, name := range slices.Sorted(slices.Values(p.Options.WellKnown)) {
		s.wellKnown[s.vocab.Key(name)] = true
	}
	for _, pod := range p.Pending {
		s.pending[pod.PodRef] = true
	}
	s.dropBadClasses()
	s.readChoices()
	s.makeRows()
	for _, pool := range slices.SortedFunc(slices.Values(p.Pools), func(a, b *cluster.Pool) int { return cmp.Compare(a.Name, b.Name) }) {
		s.addPool(pool)
	}
	s.addNodes()
	s.keepBest()
	for i := range s.machines {
		if m := &s.machines[i]; m.rows == nil {
			s.fit(m)
		}
	}
	s.dropRows()
	return s
}

func (s *search) isWellKnown(key requirement.Key) bool { return s.wellKnown[key] }

// dropBadClasses leaves out classes with requests below zero, which no certificate may list.
func (s *search) dropBadClasses() {
	s.placed = slices.DeleteFunc(s.placed, func(c placed) bool {
		for _, x := range c.src.Requests {
			if x < 0 {
				return true
			}
		}
		return false
	})
}

func (s *search) readChoices() {
	var names []string
	index := map[string]int{}
	for _, c := range s.placed {
		s.work.Pods += c.count
		for name, x := range c.src.Requests {
			if x > 0 {
				names = append(names, name)
			}
		}
		key := choiceText(c.src)
		at, ok := index[key]
		if !ok {
			at = len(s.choices)
			index[key] = at
			s.choices = append(s.choices, c.src)
			s.choiceAlts = append(s.choiceAlts, s.alternativesOf(c.src, true))
		}
		s.choiceOf = append(s.choiceOf, at)
	}
	s.work.Classes = len(s.placed)
	s.schema = res.NewSchema(names...)
	for r := range s.schema.Len() {
		unit := 1.0
		switch name := s.schema.Name(r); {
		case res.IsBytes(name):
			unit = 1 << 30
		case name == res.CPU:
			unit = 1000
		}
		s.scale = append(s.scale, unit)
	}
}

// dropRows leaves out the rows that nothing for sale carries, or something that costs nothing: they are worth nothing.
func (s *search) dropRows() {
	buyable, free := make([]bool, len(s.rows)), make([]bool, len(s.rows))
	for i := range s.machines {
		m := &s.machines[i]
		if m.ledger >= 0 {
			continue
		}
		for _, at := range m.rows {
			buyable[at] = true
			free[at] = free[at] || m.price <= 0
		}
	}
	index := make([]int, len(s.rows))
	var rows []row
	for i, r := range s.rows {
		index[i] = -1
		if buyable[i] && !free[i] {
			index[i] = len(rows)
			rows = append(rows, r)
		}
	}
	s.rows = rows
	kept := s.machines[:0]
	for _, m := range s.machines {
		n := 0
		for i, at := range m.rows {
			if index[at] >= 0 {
				m.rows[n], m.most[n] = index[at], m.most[i]
				n++
			}
		}
		if m.rows, m.most = m.rows[:n], m.most[:n]; n > 0 {
			kept = append(kept, m)
		}
	}
	s.machines = kept
	s.work.Machines = len(kept)
}

func (s *search) spent() int64 {
	n := s.knapsack.steps
	if s.master != nil {
		n += s.master.steps
	}
	return n
}

// run generates columns until the values of the rows can't be improved, or the budget ends.
func (s *search) run() {
	s.best = make([]float64, len(s.rows))
	if len(s.rows) == 0 {
		s.converged = true
		return
	}
	s.start()
	smooth := true
	for {
		s.work.Rounds++
		if !s.master.solve(s.budget - s.spent()) {
			s.stopped = "the budget of work ended in the linear program"
		}
		y := s.trial(smooth)
		found := s.priceAll(y)
		cost := s.master.cost()
		if cost-s.bestBound <= closeEnough*cost {
			s.converged = true
			break
		}
		if s.stopped == "" && s.spent() >= s.budget {
			s.stopped = "the budget of work ended"
		}
		if s.stopped != "" {
			break
		}
		if len(found) == 0 {
			if !smooth {
				s.converged = true
				break
			}
			smooth = false
			continue
		}
		smooth = true
		for _, c := range found {
			s.master.add(c)
		}
	}
	s.work.Columns, s.work.Pivots = len(s.master.columns), s.master.pivots
	s.work.Steps = s.spent()
}

const (
	// closeEnough is the part of the cost by which the values may miss the best ones.
	closeEnough = 1e-4
	// perRound is how many columns a round adds at most.
	perRound = 60
)

// start makes the linear program with a column for every row alone, on the machine that is cheapest for it.
func (s *search) start() {
	first := make([]column, len(s.rows))
	per := make([]float64, len(s.rows))
	for i := range s.machines {
		m := &s.machines[i]
		if m.ledger >= 0 {
			continue
		}
		for j, at := range m.rows {
			if each := m.price / m.most[j]; per[at] == 0 || each < per[at] {
				per[at] = each
				first[at] = column{price: m.price, parts: []share{{at, m.most[j]}}, ledger: -1}
			}
		}
	}
	need := make([]float64, 0, len(s.rows)+len(s.ledgers))
	for i := range s.rows {
		need = append(need, s.rows[i].count)
	}
	for _, l := range s.ledgers {
		need = append(need, l.times)
	}
	s.master = newMaster(need, len(s.rows), first)
}

// trial are the values to price machines at: those of the linear program, drawn towards the best so far, because the
// program's own swing widely while it knows few columns.
func (s *search) trial(smooth bool) []float64 {
	y := make([]float64, len(s.rows))
	for i := range y {
		y[i] = max(0, s.master.dual[i])
		if smooth && s.bestBound > 0 {
			y[i] = (y[i] + s.best[i]) / 2
		}
	}
	return y
}

// priceAll finds what each machine carries at most at values y, keeps y, scaled so that nothing contradicts it, if that
// proves more than before, and returns the columns that improve the program.
func (s *search) priceAll(y []float64) []column {
	type candidate struct {
		column
		gain float64
	}
	var found []candidate
	over := 1.0
	beyond := make([][]float64, len(s.ledgers)) // worth and price of what there is only so many times
	for i := range s.machines {
		m := &s.machines[i]
		worth := math.Inf(1)
		if m.w != nil && m.ledger < 0 {
			worth = s.knapsack.worth(m, m.w, y)
		}
		if worth > m.price*(1+1e-9) {
			var filling []share
			worth, filling, m.w = s.knapsack.solve(m, y)
			c := column{price: m.price, parts: filling, ledger: m.ledger}
			if gain := -s.master.reduced(&c); gain > 1e-9*max(m.price, 1e-3) && len(filling) > 0 {
				found = append(found, candidate{c, gain / max(m.price, 1e-3)})
			}
		}
		if m.ledger < 0 {
			over = max(over, worth/m.price)
		} else {
			beyond[m.ledger] = append(beyond[m.ledger], worth, m.price)
		}
	}
	bound := 0.0
	for i, v := range y {
		bound += v * s.rows[i].count
	}
	bound /= over
	for l, pairs := range beyond {
		most := 0.0
		for i := 0; i < len(pairs); i += 2 {
			most = max(most, pairs[i]/over-pairs[i+1])
		}
		bound -= most * s.ledgers[l].times
	}
	if bound > s.bestBound {
		s.bestBound = bound
		for i := range y {
			s.best[i] = y[i] / over
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(b.gain, a.gain) })
	out := make([]column, 0, perRound)
	for _, c := range found[:min(len(found), perRound)] {
		out = append(out, c.column)
	}
	return out
}
