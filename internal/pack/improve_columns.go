package pack

import (
	"cmp"
	"slices"
	"strconv"
)

func sortDescending(order []int, by []float64) {
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(by[b], by[a]), cmp.Compare(a, b)) })
}

// relaxed is the solution of the linear program: how many machines of which filling, and what a pod of each row is worth.
type relaxed struct {
	columns []column
	amount  []float64
	worth   []float64
	// price of the solution; converged when no filling was found any more that would lower it.
	price     float64
	converged bool
	pool      []column // all fillings that were found
}

// generate solves the model by column generation: the worth of pods finds fillings that cost less than what they carry,
// and these change the worth. It ends when there are none, or when the work is used up.
//
// It starts from the fillings of known machines. A pod can always be left out at somewhat more than it is worth there,
// which keeps the worth of pods near the truth from the beginning.
func (m *model) generate(known []column, work *int64) *relaxed {
	bag := newBag(m)
	start, demand := make([]column, len(m.rows)), make([]float64, len(m.rows))
	for i, r := range m.rows {
		start[i] = column{kind: -1, price: leftOut * r.value(), rows: []int{i}, n: []float64{1}}
		demand[i] = r.demand
	}
	lp := newCovering(demand, start)
	pivots := int64(len(m.rows)*len(m.rows)) / 2
	out := &relaxed{}
	promise := make([]float64, len(m.kinds))
	pool := known
	for round := 0; *work > 0; round++ {
		wide := round%8 == 0
		found := m.promising(bag, lp.dual, promise, wide)
		*work -= bag.work
		bag.work = 0
		pool = append(pool, found...)
		moved := false
		for *work > 0 {
			col := lp.cheapest(pool)
			*work -= int64(len(pool))
			if col == nil || !lp.enter(*col) {
				break
			}
			moved = true
			*work -= pivots
			for lp.relax() && *work > 0 {
				*work -= pivots
			}
		}
		if !moved {
			if wide {
				out.converged = true
				break
			}
			round = 7 + round/8*8 // look at all kinds once more
		}
	}
	for i, col := range lp.basis {
		if col.kind >= 0 && lp.x[i] > 1e-6 {
			out.columns = append(out.columns, col)
			out.amount = append(out.amount, lp.x[i])
		}
	}
	out.worth, out.price, out.pool = lp.dual, lp.price(), pool
	return out
}

// promising finds fillings that are worth more than they cost, of the kinds that promise most at a glance: of all kinds
// if wide, otherwise of those that did the last time.
func (m *model) promising(b *bag, worth, promise []float64, wide bool) []column {
	const most = 24
	order := make([]int, 0, len(m.kinds))
	for k := range m.kinds {
		if wide || promise[k] > 0.9 {
			promise[k] = b.glance(k, worth) / m.kinds[k].price
		}
		if promise[k] > 0.85 {
			order = append(order, k)
		}
	}
	sortDescending(order, promise)
	var found []column
	for _, k := range order {
		if len(found) == most {
			break
		}
		col, v := b.best(k, worth)
		promise[k] = v / m.kinds[k].price
		if promise[k] > 1+1e-6 {
			found = append(found, col)
		}
	}
	return found
}

// leftOut is what leaving a pod out costs, compared with its worth in the known plan.
const leftOut = 1.25

// value of a pod of the row, on average.
func (r *row) value() float64 {
	sum, n := 0.0, 0.0
	for _, l := range r.lots {
		sum += float64(l.value * float64(l.total))
		n += float64(l.total)
	}
	return sum / n
}

// columnsOf are the different fillings of drafts, as columns.
func (m *model) columnsOf(drafts []*draft) []column {
	var out []column
	n := make([]float64, len(m.rows))
	seen := map[string]bool{}
	kindOf := map[int]int{}
	for i := len(m.kinds) - 1; i >= 0; i-- {
		kindOf[m.kinds[i].t] = i
	}
	for _, d := range drafts {
		clear(n)
		for _, q := range d.loads {
			n[q.lot.row] += float64(q.n)
		}
		kind, ok := kindOf[d.best]
		if !ok {
			continue // another type is better at the same price
		}
		c := column{kind: kind, price: float64(d.price)}
		key := strconv.AppendInt(nil, int64(kind), 36)
		for i, x := range n {
			if x > 0 {
				c.rows, c.n = append(c.rows, i), append(c.n, x)
				key = strconv.AppendInt(append(key, ' '), int64(i), 36)
				key = strconv.AppendInt(append(key, '*'), int64(x), 36)
			}
		}
		if !seen[string(key)] {
			seen[string(key)] = true
			out = append(out, c)
		}
	}
	return out
}
