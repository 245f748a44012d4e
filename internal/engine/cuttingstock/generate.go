package cuttingstock

import (
	"cmp"
	"math"
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/lp"
)

func sortDescending(order []int, by []float64) {
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(by[b], by[a]), cmp.Compare(a, b)) })
}

// Solve solves the problem by column generation: the worth of pods finds fillings that cost less than what they carry,
// and these change the worth. It ends when there are none, or when the work is used up.
//
// It starts from the fillings of known new nodes, and adds those that it finds. A pod can always be left out at somewhat
// more than fluidDuals say that it is worth, which keeps the worth of pods near the truth from the beginning. The price of
// leaving out is raised where it turns out to be too low.
func (m *Problem) Solve(found *lp.Stock, work *int64) *Solution {
	const raise, slow = 1.3, 0.997
	if m.fluid == nil {
		m.fluid = newFluidDuals(m)
		*work -= m.fluid.work
	}
	bag := newKnapsack(m)
	start, demand := make([]lp.Column, len(m.Rows)), make([]float64, len(m.Rows))
	for i, r := range m.Rows {
		start[i] = lp.Column{Of: -1, Price: max(1, 1.3*m.fluid.worth[i]), Parts: []lp.Share{{Row: i, Amount: 1}}}
		demand[i] = r.Demand
	}
	program := lp.NewCovering(demand, start)
	promise := make([]float64, len(m.Bins))
	last := math.Inf(1)
	for round := 0; *work > 0; round++ {
		wide := round%8 == 0
		found.Add(m.promising(bag, program.Dual, promise, wide)...)
		*work -= bag.work
		bag.work = 0
		moved := program.Settle(found, work)
		if now := program.Price(); !moved && wide || now > slow*last {
			moved = program.Raise(demand, raise) || moved
		}
		last = program.Price()
		if !moved {
			if wide {
				break
			}
			round = 7 + round/8*8 // look at all kinds once more
		}
	}
	out := &Solution{Worth: program.Dual, Found: found}
	for i, col := range program.Basis {
		if col.Of >= 0 && program.X[i] > 1e-6 {
			out.Patterns = append(out.Patterns, col)
			out.Amount = append(out.Amount, program.X[i])
		}
	}
	return out
}

// promising finds fillings that are worth more than they cost, of the kinds that promise most at a glance: of all kinds
// if wide, otherwise of those that did the last time.
func (m *Problem) promising(b *knapsack, worth, promise []float64, wide bool) []lp.Column {
	const most = 8 // few rounds are left to those for capped rows otherwise
	order := make([]int, 0, len(m.Bins))
	for k := range m.Bins {
		if wide || promise[k] > 0.9 {
			promise[k] = b.glance(k, worth) / m.Bins[k].Price
		}
		if promise[k] > 0.85 {
			order = append(order, k)
		}
	}
	sortDescending(order, promise)
	var found []lp.Column
	for _, k := range order {
		if len(found) == most {
			break
		}
		col, v := b.best(k, worth)
		promise[k] = v / m.Bins[k].Price
		if promise[k] > 1+1e-6 {
			found = append(found, col)
		}
	}
	return m.withCapped(b, worth, found)
}

// withCapped adds, for each row of which a new node takes only so many, fillings with a pod of it. There are many such
// rows, and the most valuable filling of a kind has a pod of only one of them.
func (m *Problem) withCapped(b *knapsack, worth []float64, found []lp.Column) []lp.Column {
	const kinds = 2
	value, order := make([]float64, len(m.Bins)), make([]int, 0, len(m.Bins))
	for _, row := range m.fluid.capped {
		if m.Rows[row].Demand < 1 {
			continue
		}
		order = order[:0]
		for k := range m.Bins {
			if value[k] = m.fluid.carries(k, row, worth) / m.Bins[k].Price; value[k] > 0 {
				order = append(order, k)
			}
		}
		b.work += int64(len(m.Bins)) / 4
		sortDescending(order, value)
		for _, k := range order[:min(kinds, len(order))] {
			if col, v := b.with(k, row, worth); v > col.Price*(1+1e-6) {
				found = append(found, col)
			}
		}
	}
	return found
}
