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
	lpSteps  int64 // of earlier programs
	ceilings []float64
	floor    []float64
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
				m.rows[n], m.fit[n], m.capped[n] = index[at], m.fit[i], m.capped[i]
				n++
			}
		}
		m.rows, m.fit, m.capped = m.rows[:n], m.fit[:n], m.capped[:n]
		if m.most = m.fit; n > 0 {
			kept = append(kept, m)
		}
	}
	s.machines = kept
	s.work.Machines = len(kept)
}

func (s *search) spent() int64 {
	n := s.knapsack.steps + s.lpSteps
	if s.master != nil {
		n += s.master.steps
	}
	return n
}

// run finds the best values in two steps. At first a machine may carry as many pods of a row as fit, even if there are
// fewer; such programs are solved fast and come near. Then it may carry no more than there are, which matters where
// the pods are few for the machines.
func (s *search) run() {
	s.best = make([]float64, len(s.rows))
	if len(s.rows) == 0 {
		s.converged = true
		return
	}
	s.start()
	s.generate(s.budget)
	if !s.converged {
		return
	}
	different := false
	for i := range s.machines {
		m := &s.machines[i]
		different = different || !slices.Equal(m.fit, m.capped)
		m.most = m.capped
	}
	if different {
		s.converged = false
		s.restart()
		s.generate(s.budget)
	}
}

// generate adds columns until the values of the rows can't be improved, or the budget ends.
//
// While it knows few columns the linear program values some rows far too high. So every row can also be had, without any
// machine, for a little more than what it is worth by the best values so far; these ceilings move up with the best values
// and where they are in use when nothing else improves the program. When none is in use the program is the true one.
func (s *search) generate(budget int64) {
	reach := 0.5
	for {
		s.work.Rounds++
		s.setCeilings()
		if !s.master.solve(budget - s.spent()) {
			s.stopped = "the budget of work ended in the linear program"
			break
		}
		before := s.bestBound
		found := s.priceAll(s.trial(reach))
		if s.bestBound > before {
			reach = min(0.9, reach*1.5)
		} else {
			reach = max(0.02, reach*0.7)
		}
		if len(found) == 0 {
			found = s.priceAll(s.trial(1))
		}
		cost, inUse := s.master.cost(), s.ceilingsInUse()
		near := cost-s.bestBound <= closeEnough*cost
		if (near || len(found) == 0) && len(inUse) == 0 {
			s.converged = true
			break
		}
		if s.spent() >= budget {
			s.stopped = "the budget of work ended"
			break
		}
		if near || len(found) == 0 {
			for _, i := range inUse {
				s.ceilings[i] *= 1 + 2*headroom
			}
		}
		for _, c := range found {
			s.master.add(c)
		}
	}
	s.work.Columns += len(s.master.columns)
	s.work.Pivots += s.master.pivots
	s.work.Steps = s.spent()
}

const (
	// closeEnough is the part of the cost by which the values may miss the best ones.
	closeEnough = 1e-4
	// perRound is how many columns a round adds at most.
	perRound = 60
	// headroom is how far above the best values so far the ceilings are.
	headroom = 0.1
)

// start finds the first values.
func (s *search) start() {
	s.ceilings = make([]float64, len(s.rows))
	for i := range s.machines {
		m := &s.machines[i]
		for j, at := range m.rows {
			if each := m.price / m.most[j]; m.ledger < 0 && (s.ceilings[at] == 0 || each < s.ceilings[at]) {
				s.ceilings[at] = each
			}
		}
	}
	s.floor = slices.Clone(s.ceilings)
	s.restart()
	columns := s.seed()
	clear(s.ceilings)
	s.restart()
	for _, c := range columns {
		s.master.add(c)
	}
}

// restart makes the linear program with no columns but the ceilings.
func (s *search) restart() {
	need := make([]float64, 0, len(s.rows)+len(s.ledgers))
	first := make([]column, len(s.rows))
	for i := range s.rows {
		need = append(need, s.rows[i].count)
		first[i] = column{price: s.ceilings[i], parts: []share{{i, 1}}, ledger: -1}
	}
	for _, l := range s.ledgers {
		need = append(need, l.times)
	}
	if s.master != nil {
		s.lpSteps += s.master.steps
	}
	s.master = newMaster(need, len(s.rows), first)
	s.master.duals()
}

// setCeilings moves the ceilings up with the best values. The first columns of the program are the ceilings.
func (s *search) setCeilings() {
	for i, y := range s.best {
		s.ceilings[i] = max(s.ceilings[i], y*(1+headroom), s.floor[i]/50)
		s.master.columns[i].price = s.ceilings[i]
	}
}

// ceilingsInUse are the rows of which the program has some from nowhere.
func (s *search) ceilingsInUse() []int {
	var out []int
	for i, v := range s.master.basis {
		if v >= 0 && v < len(s.rows) && s.master.amount[i] > 1e-7*s.master.need[v] {
			out = append(out, v)
		}
	}
	return out
}

// trial are the values to price machines at: a part of the way from the best so far to those of the linear program,
// which swing widely while it knows few columns.
func (s *search) trial(part float64) []float64 {
	y := make([]float64, len(s.rows))
	for i := range y {
		y[i] = s.best[i] + part*(max(0, s.master.dual[i])-s.best[i])
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
