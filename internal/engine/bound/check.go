package bound

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// Check verifies the certificate against the problem and gives the bound that it proves: whoever serves as many pods of
// each class as the rows say pays at least that much per hour for new instances.
//
// It reads classes, pools and nodes by itself and computes in whole numbers only. Errors name the row, the weights or
// the instance that does not hold.
//
// Cost: grows with instances and weights; hardly with classes, and not with pods.
func Check(p *pack.Problem, c *Certificate) (catalog.MicroUSD, error) { return check(p, c, &Memory{}) }

func check(p *pack.Problem, c *Certificate, memory *Memory) (catalog.MicroUSD, error) {
	if c == nil {
		return 0, fmt.Errorf("check bound: no certificate")
	}
	k := &checker{p: p, memory: memory, vocab: memory.vocabulary(), wellKnown: map[requirement.Key]bool{},
		pending: map[cluster.PodRef]bool{}, charges: map[string]*charge{}, territories: map[string]*territory{}, counting: map[*cluster.Class][]int{},
		served: map[string]*served{}, searches: maxSearch}
	for _, name := range p.Options.WellKnown {
		k.wellKnown[k.vocab.Key(name)] = true
	}
	for _, step := range []func(*Certificate) error{k.readRows, k.readWeights} {
		if err := step(c); err != nil {
			return 0, fmt.Errorf("check bound: %w", err)
		}
	}
	k.readDaemons()
	k.onNode = make([]bool, len(k.classes))
	if c.Whole > 0 {
		k.offers = map[string][]offer{}
	}
	for _, pool := range p.Pools {
		if err := k.checkPool(pool); err != nil {
			return 0, fmt.Errorf("check bound: pool %s: %w", pool.Name, err)
		}
	}
	for i, n := range p.Nodes {
		if err := k.chargeNode(i, n); err != nil {
			return 0, fmt.Errorf("check bound: node %s: %w", n.Name, err)
		}
	}
	return k.total(c.Whole)
}

type checker struct {
	p         *pack.Problem
	memory    *Memory
	vocab     *requirement.Vocabulary
	wellKnown map[requirement.Key]bool
	pending   map[cluster.PodRef]bool

	schema  *res.Schema
	classes []*valued
	choices []choice
	groups  []hostGroup
	daemons []certainDaemon
	weights []priced
	charges map[string]*charge
	served  map[string]*served
	// spreadRows, territories and present serve the rows with values by zone.
	spreadRows  []*spreadRow
	territories map[string]*territory
	present     map[string][]*presentClass
	nodeLabels  map[*cluster.Node]nodeLabels
	// offers are what is sold, by zone if there are values by zone; nil when they need not be known. On an existing node may
	// be pods of the classes in onNode.
	offers map[string][]offer
	onNode []bool
	// counting remembers which groups running pods of a class matter to.
	counting map[*cluster.Class][]int
	// searches is how many ways of filling instances may still be looked at.
	searches int
}

// valued is a class with its row of the certificate.
type valued struct {
	src    *cluster.Class
	count  int64
	value  uint64 // nano-USD
	req    res.Vector
	choice int // of checker.choices
	group  int // of checker.groups; -1: none
	// kind numbers classes of the same choice, requests and value; together they fit no more often than one of them.
	kind int
	// zone is set for pods of a row with values by zone that are in that one; again, for all but the first of the row.
	zone  string
	again bool
}

// priced are weights with what they make of each class.
type priced struct {
	by []uint64 // by position in the schema
	// excess holds the classes worth more than their requests, priced by the weights, and by how much, in nano-USD/2^40.
	// They are sorted by groups of several classes, within a group the largest first, and by kind.
	excess []excess
}

type excess struct {
	class int
	much  wide
}

// charge is what an instance that is there only so many times takes off the bound, in nano-USD.
type charge struct {
	times int64
	each  int64
}

func (k *checker) isWellKnown(key requirement.Key) bool { return k.wellKnown[key] }

func (k *checker) readRows(c *Certificate) error {
	byID := map[string]*cluster.Class{}
	counts := map[string]int{}
	for _, pod := range k.p.Pending {
		k.pending[pod.PodRef] = true
		if pod.Class == nil {
			continue
		}
		id := pod.Class.ID
		if id == "" {
			id = pod.Class.Hash()
		}
		byID[id] = pod.Class
		counts[id]++
	}
	seen := map[string]bool{}
	var names []string
	for _, row := range c.Rows {
		src := byID[row.Class]
		switch {
		case src == nil:
			return fmt.Errorf("row %s: no pending pod is of this class", row.Class)
		case seen[row.Class]:
			return fmt.Errorf("row %s: listed twice", row.Class)
		case row.Count < 1 || row.Count > counts[row.Class]:
			return fmt.Errorf("row %s: counts %d pods, %d are pending", row.Class, row.Count, counts[row.Class])
		case row.Value < 0:
			return fmt.Errorf("row %s: value %d is below zero", row.Class, row.Value)
		}
		seen[row.Class] = true
		for name, x := range src.Requests {
			if x < 0 {
				return fmt.Errorf("row %s: the class requests %d of %s, which is below zero", row.Class, x, name)
			}
			if x > 0 {
				names = append(names, name)
			}
		}
	}
	k.schema = k.memory.schemaOf(names)
	for i := range c.Rows {
		row := &c.Rows[i]
		src := byID[row.Class]
		if row.Zones == nil {
			k.classes = append(k.classes, &valued{src: src, count: int64(row.Count), value: uint64(row.Value)})
		} else if err := k.addSpreadRow(src, row); err != nil {
			return err
		}
	}
	k.readClasses()
	return nil
}

func (k *checker) readWeights(c *Certificate) error {
	for i, w := range c.Weights {
		pr := priced{by: make([]uint64, k.schema.Len())}
		for name, x := range w {
			at, ok := k.schema.Index(name)
			switch {
			case x < 0:
				return fmt.Errorf("weights %d: %d for %s is below zero", i, x, name)
			case !ok:
				return fmt.Errorf("weights %d: no class requests %s", i, name)
			}
			pr.by[at] = uint64(x)
		}
		for at, v := range k.classes {
			room := k.cost(&pr, v.req)
			if much := (wide{lo: v.value}).shift(fine).minus(room); !much.zero() {
				pr.excess = append(pr.excess, excess{at, much})
			}
		}
		slices.SortStableFunc(pr.excess, func(a, b excess) int {
			return cmp.Or(cmp.Compare(k.sharedGroup(a.class), k.sharedGroup(b.class)), b.much.compare(a.much),
				cmp.Compare(k.classes[a.class].kind, k.classes[b.class].kind))
		})
		k.weights = append(k.weights, pr)
	}
	return nil
}

// cost is an amount of resources priced by the weights, in nano-USD/2^40.
func (k *checker) cost(w *priced, amount res.Vector) wide {
	var sum wide
	for r, x := range amount {
		if x > 0 && w.by[r] > 0 {
			sum = sum.add(product(w.by[r], uint64(x)).shift(fine - unitBits(k.schema.Name(r))))
		}
	}
	return sum
}

// carrier is an instance as far as the proof looks at it.
type carrier struct {
	room    res.Vector
	allowed []bool // by class
	// most is how many pods of a group it can carry; nil: as many as the group says.
	most []int64
}

// most is how many pods of the class the instance can carry, were there no others.
func (k *checker) most(m *carrier, class int) int64 {
	v := k.classes[class]
	n := min(v.count, v.fits(m.room))
	if v.group >= 0 {
		n = min(n, k.groupMost(m, v.group))
	}
	return n
}

// fits is how often the requests fit in the room.
func (v *valued) fits(room res.Vector) int64 {
	n := int64(math.MaxInt64)
	for r, x := range v.req {
		if x > 0 {
			n = min(n, max(0, room[r])/x)
		}
	}
	return n
}

// sharedGroup is the group of the class if it has other members; -1 otherwise.
func (k *checker) sharedGroup(class int) int {
	g := k.classes[class].group
	if g >= 0 && k.groups[g].members < 2 {
		return -1
	}
	return g
}

func (k *checker) groupMost(m *carrier, group int) int64 {
	if m.most != nil {
		return m.most[group]
	}
	return k.groups[group].most
}

// worth is an upper bound, by the weights, on what pods that the instance carries are worth together, in nano-USD/2^40.
// It may stop early when it is above limit.
func (k *checker) worth(w *priced, m *carrier, limit wide) wide {
	sum := k.cost(w, m.room)
	group, groupLeft := -1, int64(0)
	kind, kindLeft := -1, int64(0)
	for i := range w.excess {
		e := &w.excess[i]
		if !m.allowed[e.class] {
			continue
		}
		v := k.classes[e.class]
		n := k.most(m, e.class)
		if g := k.sharedGroup(e.class); g >= 0 {
			if g != group {
				group, groupLeft = g, k.groupMost(m, g)
			}
			n = min(n, groupLeft) // the worthiest of a group come first
			groupLeft -= n
		}
		if v.kind != kind {
			kind, kindLeft = v.kind, v.fits(m.room)
		}
		n = min(n, kindLeft)
		kindLeft -= n
		if n > 0 {
			sum = sum.add(e.much.times(uint64(n)))
		}
		if limit.less(sum) {
			break
		}
	}
	return sum
}

// proven reports whether some weights show that the instance carries no more than price, trying those first that did so
// last.
func (k *checker) proven(order []int, m *carrier, price wide) bool {
	for at, j := range order {
		if !price.less(k.worth(&k.weights[j], m, price)) {
			copy(order[1:at+1], order[:at])
			order[0] = j
			return true
		}
	}
	return false
}

// least is the smallest worth that any weights show, in nano-USD rounded up.
func (k *checker) least(m *carrier) (int64, bool) {
	best := k.sumOfAll(m)
	for j := range k.weights {
		if w := k.worth(&k.weights[j], m, best); w.less(best) {
			best = w
		}
	}
	return best.whole()
}

// sumOfAll is the worth of all pods that the instance can carry one by one.
func (k *checker) sumOfAll(m *carrier) wide {
	var sum wide
	for at, v := range k.classes {
		if m.allowed[at] && v.value > 0 {
			sum = sum.add(product(v.value, uint64(k.most(m, at))))
		}
	}
	return sum.shift(fine)
}

// total is what the rows are worth less the charges, and more by what whole instances cost besides, in micro-USD. Prices are
// whole micro-USD, so it is rounded up.
func (k *checker) total(whole int64) (catalog.MicroUSD, error) {
	var sum wide
	for _, v := range k.classes {
		if v.zone == "" {
			sum = sum.add(product(v.value, uint64(v.count)))
		}
	}
	for _, sr := range k.spreadRows {
		sum = sum.add(k.worthAtLeast(sr))
	}
	for _, c := range k.charges {
		sum = sum.minus(product(uint64(c.each), uint64(c.times)))
	}
	switch {
	case whole < 0:
		return 0, fmt.Errorf("check bound: what whole instances cost more is below zero: %d", whole)
	case whole > 0:
		more, err := k.wholeInstances(whole)
		if err != nil {
			return 0, fmt.Errorf("check bound: %w", err)
		}
		sum = sum.add(wide{lo: uint64(more)})
	}
	if sum.hi != 0 || sum.lo > math.MaxInt64-1000 {
		return 0, fmt.Errorf("check bound: the values add up to more than can be written")
	}
	return catalog.MicroUSD((sum.lo + 999) / 1000), nil
}
