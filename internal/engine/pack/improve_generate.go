package pack

import (
	"cmp"
	"math"
	"slices"
	"strconv"
)

func sortDescending(order []int, by []float64) {
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(by[b], by[a]), cmp.Compare(a, b)) })
}

// relaxed is the solution of the linear program: how many new nodes of which filling, and what a pod of each row is worth.
type relaxed struct {
	patterns []pattern
	amount   []float64
	worth    []float64
	// price of the solution; converged when no filling was found any more that would lower it.
	price     float64
	converged bool
	found     *stock // all fillings that are known
}

// generate solves the model by column generation: the worth of pods finds fillings that cost less than what they carry,
// and these change the worth. It ends when there are none, or when the work is used up.
//
// It starts from the fillings of known new nodes, and adds those that it finds. A pod can always be left out at somewhat
// more than it is worth there, which keeps the worth of pods near the truth from the beginning. Where new nodes take only
// so many of some rows, what pods are worth in the known plan says little; then a prior takes its place, and the price of
// leaving out is raised where it turns out to be too low.
func (m *cuttingStock) generate(found *stock, work *int64) *relaxed {
	const raise, slow = 1.3, 0.997
	if m.fluid == nil && len(m.caps) > 0 {
		m.fluid = newFluidDuals(m)
		*work -= m.fluid.work
	}
	bag := newKnapsack(m)
	start, demand := make([]pattern, len(m.rows)), make([]float64, len(m.rows))
	for i, r := range m.rows {
		start[i] = pattern{bin: -1, price: m.leaveOut(i), rows: []int{i}, n: []float64{1}}
		demand[i] = r.demand
	}
	lp := newCovering(demand, start)
	out := &relaxed{}
	promise := make([]float64, len(m.bins))
	last := math.Inf(1)
	for round := 0; *work > 0; round++ {
		wide := round%8 == 0
		found.add(m.promising(bag, lp.dual, promise, wide)...)
		*work -= bag.work
		bag.work = 0
		moved := lp.settle(found, work)
		if now := lp.price(); m.fluid != nil && (!moved && wide || now > slow*last) {
			moved = lp.raise(demand, raise) || moved
		}
		last = lp.price()
		if !moved {
			if wide {
				out.converged = true
				break
			}
			round = 7 + round/8*8 // look at all kinds once more
		}
	}
	for i, col := range lp.basis {
		if col.bin >= 0 && lp.x[i] > 1e-6 {
			out.patterns = append(out.patterns, col)
			out.amount = append(out.amount, lp.x[i])
		}
	}
	out.worth, out.price, out.found = lp.dual, lp.price(), found
	return out
}

// promising finds fillings that are worth more than they cost, of the kinds that promise most at a glance: of all kinds
// if wide, otherwise of those that did the last time.
func (m *cuttingStock) promising(b *knapsack, worth, promise []float64, wide bool) []pattern {
	most := 24
	if m.fluid != nil {
		most = 8 // few rounds are left to those for capped rows otherwise
	}
	order := make([]int, 0, len(m.bins))
	for k := range m.bins {
		if wide || promise[k] > 0.9 {
			promise[k] = b.glance(k, worth) / m.bins[k].price
		}
		if promise[k] > 0.85 {
			order = append(order, k)
		}
	}
	sortDescending(order, promise)
	var found []pattern
	for _, k := range order {
		if len(found) == most {
			break
		}
		col, v := b.best(k, worth)
		promise[k] = v / m.bins[k].price
		if promise[k] > 1+1e-6 {
			found = append(found, col)
		}
	}
	if m.fluid == nil {
		return found
	}
	return m.withCapped(b, worth, found)
}

// leaveOut is what leaving out a pod of the row costs at first.
func (m *cuttingStock) leaveOut(row int) float64 {
	if m.fluid == nil {
		return 1.25 * m.rows[row].value()
	}
	return max(1, 1.3*m.fluid.worth[row])
}

// withCapped adds, for each row of which a new node takes only so many, fillings with a pod of it. There are many such
// rows, and the most valuable filling of a kind has a pod of only one of them.
func (m *cuttingStock) withCapped(b *knapsack, worth []float64, found []pattern) []pattern {
	const kinds = 2
	value, order := make([]float64, len(m.bins)), make([]int, 0, len(m.bins))
	for _, row := range m.fluid.capped {
		if m.rows[row].demand < 1 {
			continue
		}
		order = order[:0]
		for k := range m.bins {
			if value[k] = m.fluid.carries(k, row, worth) / m.bins[k].price; value[k] > 0 {
				order = append(order, k)
			}
		}
		b.work += int64(len(m.bins)) / 4
		sortDescending(order, value)
		for _, k := range order[:min(kinds, len(order))] {
			if col, v := b.with(k, row, worth); v > col.price*(1+1e-6) {
				found = append(found, col)
			}
		}
	}
	return found
}

// value of a pod of the row, on average.
func (r *demandRow) value() float64 {
	sum, n := 0.0, 0.0
	for _, l := range r.lots {
		sum += float64(l.value * float64(l.total))
		n += float64(l.total)
	}
	return sum / n
}

// patternsOf are the different fillings of drafts, as columns.
func (m *cuttingStock) patternsOf(drafts []*draft) *stock {
	out := &stock{}
	n := make([]float64, len(m.rows))
	seen := map[string]bool{}
	kindOf := map[int]int{}
	for i := len(m.bins) - 1; i >= 0; i-- {
		kindOf[m.bins[i].t] = i
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
		c := pattern{bin: kind, price: float64(d.price)}
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
			out.add(c)
		}
	}
	return out
}
