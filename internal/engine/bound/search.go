package bound

import (
	"cmp"
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/lp"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// search is the working state of Lower. Everything in it is in an order that does not depend on that of the problem.
type search struct {
	p         *pack.Problem
	placed    []placed
	memory    *Memory
	vocab     *requirement.Vocabulary
	wellKnown map[requirement.Key]bool
	pending   map[cluster.PodRef]bool
	schema    *res.Schema
	scale     []float64 // by resource: how much of it is one unit of the search
	steps     []int64   // by resource: see stepsOf

	choices    []*cluster.Class // one of each kind of choice
	choiceAlts [][]requirement.Requirements
	choiceOf   []int // by class
	limits     []classLimit
	shared     []sharedLimit
	rows       []row
	byName     []*cluster.Node // see nodes
	// zoned holds the boxes of the classes that are dealt out over zones, zoneChoice the choices of such a class in a zone,
	// rowsOf the rows of each class, and deals what belongs together.
	zoned        [][]box
	zoneChoice   map[string]int
	zoneOfChoice map[int]string
	rowsOf       [][]int
	deals        []deal

	sets        [][]uint64
	setIndex    map[string]int
	demands     [][]float64
	offered     map[string]int
	instances   []instance
	ledgers     []ledger
	ledgerIndex map[string]int

	knapsack *knapsack
	master   *lp.Program
	lpSteps  int64 // of earlier programs
	// sums tells what a pod of each row adds to the program's constraints, of which there are so many.
	sums        [][]lp.Share
	constraints int
	summing     bool
	ceilings    []float64 // by constraint
	alone       []float64 // by row: what a pod costs on the instance that is cheapest for it
	budget      int64
	// best are the best values of the rows so far, which no instance's price contradicts, and what they prove.
	best []float64
	// earlier are the best values of earlier steps, for which the checker has less to search; wholePods is set once pods
	// can't be cut any more.
	earlier   [][]float64
	wholePods bool
	// hopeful is set while a quick look at fillings is taken for the truth, though it may miss some.
	hopeful bool
	// thorough is set to look at more ways to fill an instance than are needed to find good ones.
	thorough  bool
	bestBound float64
	converged bool
	open      float64 // how much more the program costs than the best values prove, as a part; infinite when not known
	stopped   string
	work      Work
}

func newSearch(p *pack.Problem, classes []placed, b Budget) *search {
	s := &search{p: p, placed: classes, memory: b.Memory, vocab: b.Memory.vocabulary(), wellKnown: map[requirement.Key]bool{},
		pending: map[cluster.PodRef]bool{}, setIndex: map[string]int{}, offered: map[string]int{}, ledgerIndex: map[string]int{}, budget: b.Work}
	s.knapsack = &knapsack{s: s}
	for _, name := range slices.Sorted(slices.Values(p.Options.WellKnown)) {
		s.wellKnown[s.vocab.Key(name)] = true
	}
	for _, pod := range p.Pending {
		s.pending[pod.PodRef] = true
	}
	s.dropBadClasses()
	s.readChoices()
	s.dealOut()
	s.makeRows()
	s.makeDeals()
	s.steps = stepsOf(s.schema, s.rows)
	for _, pool := range s.pools() {
		s.addPool(pool)
	}
	s.addNodes()
	s.keepBest()
	for i := range s.instances {
		if m := &s.instances[i]; m.rows == nil {
			s.fit(m)
		}
	}
	s.dropRows()
	return s
}

// pools are those of the problem by name.
func (s *search) pools() []*cluster.Pool {
	return slices.SortedFunc(slices.Values(s.p.Pools), func(a, b *cluster.Pool) int { return cmp.Compare(a.Name, b.Name) })
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
	s.schema = s.memory.schemaOf(names)
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
	for i := range s.instances {
		m := &s.instances[i]
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
		if buyable[i] && !free[i] && r.count > 0 {
			index[i] = len(rows)
			rows = append(rows, r)
		}
	}
	s.rows = rows
	for i := range s.deals {
		for j, at := range s.deals[i].rows {
			s.deals[i].rows[j] = index[at]
		}
	}
	kept := s.instances[:0]
	for _, m := range s.instances {
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
	s.instances = kept
	s.work.Instances = len(kept)
}

func (s *search) spent() int64 {
	n := s.knapsack.steps() + s.lpSteps
	if s.master != nil {
		n += s.master.Steps
	}
	return n
}
