package bound

import (
	"cmp"
	"math"
	"slices"

	"github.com/kerf-sh/kerf/internal/catalog"
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

	catalogs    map[listing]*catalog.Catalog
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
	// sums tells what a pod of each row adds to the program's constraints, of which there are so many.
	sums        [][]share
	constraints int
	summing     bool
	ceilings    []float64 // by constraint
	alone       []float64 // by row: what a pod costs on the machine that is cheapest for it
	budget      int64
	// best are the best values of the rows so far, which no machine's price contradicts, and what they prove.
	best []float64
	// divisible are the best values with pods cut at will; wholePods is set once they are not any more.
	divisible []float64
	wholePods bool
	bestBound float64
	converged bool
	stopped   string
	work      Work
}

func newSearch(p *pack.Problem, classes []placed, budget int64) *search {
	s := &search{p: p, placed: classes, vocab: requirement.NewVocabulary(), wellKnown: map[requirement.Key]bool{},
		pending: map[cluster.PodRef]bool{}, setIndex: map[string]int{}, offered: map[string]int{}, ledgerIndex: map[string]int{}, catalogs: map[listing]*catalog.Catalog{}, budget: budget}
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

// run finds the best values in three steps, each of which starts from what the one before has found. At first rows are
// only summed up: what all of them that may go to the same machines ask for of each resource has to be carried, not
// this many pods of each. Then each row counts for itself. In both, a machine may carry as many pods of a row as fit, even
// if there are fewer; in the end it may carry no more than there are, which matters where pods are few for the machines.
func (s *search) run() {
	s.best = make([]float64, len(s.rows))
	if len(s.rows) == 0 {
		s.converged = true
		return
	}
	s.priceAlone()
	s.summarise()
	s.restart()
	for _, c := range s.seed() {
		s.master.add(c)
	}
	s.generate(s.budget/4, 0)
	s.spell()
	s.restart()
	s.generate(s.budget, headroom)
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
		s.priceAlone()
		s.resume()
		s.generate(s.budget, headroom)
	}
	if s.converged {
		s.divisible = slices.Clone(s.best)
		s.wholePods = true
		for i := range s.machines {
			s.machines[i].w = nil
		}
		s.resume()
		s.generate(s.budget, headroom)
	}
}

// generate adds columns until the values of the rows can't be improved, or the budget ends.
//
// While it knows few columns the linear program values some rows far too high. So every row can also be had, without any
// machine, for a little more than what it is worth by the best values so far; these ceilings move up with the best values
// and where they are in use when nothing else improves the program. When none is in use the program is the true one.
func (s *search) generate(budget int64, headroom float64) {
	s.converged, s.stopped = false, ""
	reach := 0.5
	since, idle, idleFrom := s.bestBound, 0, s.spent()
	for {
		s.work.Rounds++
		s.setCeilings(headroom)
		solved := s.master.solve(min(budget-s.spent(), budget/16))
		before := s.bestBound
		found := s.priceAll(s.trial(reach))
		if s.bestBound > before {
			reach = min(0.9, reach*1.5)
		} else {
			reach = max(0.1, reach*0.7)
		}
		if s.bestBound > since*(1+closeEnough) {
			since, idle, idleFrom = s.bestBound, 0, s.spent()
		} else if idle++; idle == patience || s.spent()-idleFrom > budget/8 {
			s.stopped = "the bound stopped growing"
			break
		}
		if len(found) == 0 && solved {
			found = s.priceAll(s.trial(1))
		}
		cost, inUse := s.master.cost(), s.ceilingsInUse()
		near := cost-s.bestBound <= closeEnough*cost
		if solved && (near || len(found) == 0) && len(inUse) == 0 {
			s.converged = true
			break
		}
		if s.spent() >= budget {
			s.stopped = "the budget of work ended"
			break
		}
		if solved && (near || len(found) == 0) {
			for _, i := range inUse {
				s.ceilings[i] *= 1.2
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
	// patience is for how many rounds the bound may grow by less than that; it ends with an eighth of the work, too.
	patience = 60
	// perRound is how many columns a round adds at most.
	perRound = 200
	// perMachine is how many a machine adds at most.
	perMachine = 24
	// headroom is how far above the best values so far the ceilings are.
	headroom = 0.1
)

// summarise makes the program's constraints sums over the rows that may go to the same machines: one for each resource,
// and one for each limit per host.
func (s *search) summarise() {
	type of struct{ choice, what int }
	index := map[of]int{}
	s.sums, s.summing = make([][]share, len(s.rows)), true
	s.constraints = 0
	put := func(row int, key of, x float64) {
		at, ok := index[key]
		if !ok {
			at = s.constraints
			s.constraints++
			index[key] = at
		}
		s.sums[row] = append(s.sums[row], share{at, x})
	}
	for i := range s.rows {
		row := &s.rows[i]
		for r, x := range row.req {
			if x > 0 {
				put(i, of{row.choice, r}, x)
			}
		}
		switch {
		case row.shared >= 0:
			put(i, of{row.choice, len(row.req) + 1 + row.shared}, 1)
		case !math.IsInf(row.perHost, 1) || len(s.sums[i]) == 0:
			put(i, of{row.choice, len(row.req)}, 1)
		}
	}
	s.ceilings = make([]float64, s.constraints)
	for i, sums := range s.sums {
		for _, x := range sums {
			s.ceilings[x.row] = max(s.ceilings[x.row], 2*s.alone[i]/x.amount)
		}
	}
}

// spell makes the program's constraints the rows themselves.
func (s *search) spell() {
	s.constraints, s.summing = len(s.rows), false
	for i := range s.rows {
		s.sums[i] = []share{{i, 1}}
	}
	s.ceilings = make([]float64, len(s.rows))
}

// summed writes a filling as what it adds to the constraints.
func (s *search) summed(filling []share) []share {
	var out []share
	for _, f := range filling {
		for _, x := range s.sums[f.row] {
			at, ok := slices.BinarySearchFunc(out, x.row, func(o share, row int) int { return o.row - row })
			if !ok {
				out = slices.Insert(out, at, share{row: x.row})
			}
			out[at].amount += f.amount * x.amount
		}
	}
	return out
}

// priceAlone finds what a pod of each row costs on the machine that is cheapest for it.
func (s *search) priceAlone() {
	s.alone = make([]float64, len(s.rows))
	for i := range s.machines {
		m := &s.machines[i]
		for j, at := range m.rows {
			if each := m.price / m.most[j]; m.ledger < 0 && (s.alone[at] == 0 || each < s.alone[at]) {
				s.alone[at] = each
			}
		}
	}
}

// restart makes the linear program with no columns but the ceilings.
func (s *search) restart() {
	need := make([]float64, s.constraints)
	for i, sums := range s.sums {
		for _, x := range sums {
			need[x.row] += x.amount * s.rows[i].count
		}
	}
	first := make([]column, s.constraints)
	for i := range first {
		first[i] = column{price: s.ceilings[i], parts: []share{{i, 1}}, ledger: -1}
	}
	for _, l := range s.ledgers {
		need = append(need, l.times)
	}
	if s.master != nil {
		s.lpSteps += s.master.steps
	}
	s.master = newMaster(need, s.constraints, first)
	s.master.duals()
}

// resume makes the linear program anew for narrower rules, with what the columns hold by those.
func (s *search) resume() {
	old := s.master.columns[s.constraints:]
	clear(s.ceilings)
	s.restart()
	for _, c := range old {
		m := &s.machines[c.machine]
		parts := c.parts[:0]
		for _, p := range c.parts {
			at, ok := slices.BinarySearch(m.rows, p.row)
			if !ok {
				continue
			}
			p.amount = min(p.amount, m.most[at])
			if s.wholePods {
				p.amount = math.Floor(p.amount + 1e-9)
			}
			if p.amount > 0 {
				parts = append(parts, p)
			}
		}
		c.parts = parts
		s.master.add(c)
	}
}

// setCeilings moves the ceilings up with the best values. The first columns of the program are the ceilings.
func (s *search) setCeilings(headroom float64) {
	for i := range s.ceilings {
		if headroom > 0 {
			s.ceilings[i] = min(s.alone[i], max(s.ceilings[i], s.best[i]*(1+headroom), s.alone[i]/50))
		}
		s.master.columns[i].price = s.ceilings[i]
	}
}

// ceilingsInUse are the rows of which the program has some from nowhere. A ceiling as high as what the row costs alone
// is none: that much can be bought.
func (s *search) ceilingsInUse() []int {
	var out []int
	for i, v := range s.master.basis {
		if v >= 0 && v < s.constraints && s.master.amount[i] > 1e-7*s.master.need[v] &&
			(s.summing || s.ceilings[v] < s.alone[v]) {
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
		for _, x := range s.sums[i] {
			y[i] += x.amount * s.master.dual[x.row]
		}
		y[i] = s.best[i] + part*(min(max(0, y[i]), s.alone[i])-s.best[i])
	}
	return y
}

// candidate is a column and what it gains per price.
type candidate struct {
	column
	gain float64
}

// priceAll finds what each machine carries at most at values y, keeps y, scaled so that nothing contradicts it, if that
// proves more than before, and returns columns that improve the program.
func (s *search) priceAll(y []float64) []column {
	var found []candidate
	over := 1.0
	beyond := make([]float64, len(s.ledgers)) // worth less price of what there is only so many times
	worth := make([]float64, len(s.machines))
	for i := range s.machines {
		m := &s.machines[i]
		worth[i] = math.Inf(1)
		if m.w != nil && m.ledger < 0 {
			worth[i] = s.knapsack.worth(m, m.w, y)
		}
		if worth[i] > m.price*(1+1e-9) {
			var filling []share
			worth[i], filling, m.w = s.knapsack.solve(m, y)
			if s.wholePods {
				worth[i], filling = s.withWholePods(m, y, m.w, worth[i], filling)
			}
			found = s.candidates(found, i, y, filling)
		}
		if m.ledger < 0 {
			over = max(over, worth[i]/m.price)
		}
	}
	bound := 0.0
	for i, v := range y {
		bound += v * s.rows[i].count
	}
	bound /= over
	for i := range s.machines {
		if m := &s.machines[i]; m.ledger >= 0 {
			beyond[m.ledger] = max(beyond[m.ledger], worth[i]/over-m.price)
		}
	}
	for l, most := range beyond {
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

// candidates adds the filling of a machine, and further ones without the rows of those before, as long as they improve
// the program: a machine that is worth too much is so for many rows at once.
func (s *search) candidates(found []candidate, i int, y []float64, filling []share) []candidate {
	m := &s.machines[i]
	var rest []float64
	for range perMachine {
		if len(filling) == 0 {
			break
		}
		c := column{machine: i, price: m.price, parts: s.summed(filling), ledger: m.ledger}
		gain := -s.master.reduced(&c)
		if gain <= 1e-9*max(m.price, 1e-3) {
			break
		}
		found = append(found, candidate{c, gain / max(m.price, 1e-3)})
		if s.summing {
			break
		}
		if rest == nil {
			rest = slices.Clone(y)
		}
		for _, f := range filling {
			rest[f.row] = 0
		}
		worth, next, w := s.knapsack.solve(m, rest)
		if s.wholePods {
			_, next = s.withWholePods(m, rest, w, worth, next)
		}
		filling = next
	}
	return found
}

// withWholePods is the worth and filling of a machine that carries whole pods only, given those with pods cut at will.
// Machines for which that is too much work keep the latter.
func (s *search) withWholePods(m *machine, y, w []float64, worth float64, filling []share) (float64, []share) {
	if m.cut || worth <= m.price*(1+1e-9) {
		return worth, filling
	}
	value, whole, ok := s.knapsack.whole(m, y, w, m.price)
	switch {
	case ok:
		return min(worth, value), whole
	case len(whole) > 0:
		return worth, whole
	}
	m.cut = true
	return worth, filling
}
