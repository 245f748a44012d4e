package cuttingstock

import "github.com/kerf-sh/kerf/internal/engine/lp"

// fluidDuals are what pods are worth if new nodes could be filled to the last with what is not capped by host, as if it were
// water: a core costs the same on every pod, and so does a gigabyte. It is found in a moment, because the program has one
// line for each resource and access class and one for each row that is capped, and it is near what pods turn out to be
// worth on real fillings. The large program starts from there.
type fluidDuals struct {
	m *Problem
	// line is, by row, the line of a capped row; -1 for others. water is, by access class and resource, the line that
	// counts the resource.
	line   []int
	water  [][]int
	unit   []float64 // by resource: what the lines count as one
	capped []int     // rows
	worth  []float64 // of one pod, by row
	// rate is what a unit of each resource is worth on a kind.
	rate [][]float64
	work int64
}

func newFluidDuals(m *Problem) *fluidDuals {
	width := len(m.Rows[0].Req)
	p := &fluidDuals{m: m, line: make([]int, len(m.Rows)), worth: make([]float64, len(m.Rows)), unit: make([]float64, width)}
	for range m.Accesses {
		line := make([]int, width)
		for j := range line {
			line[j] = -1
		}
		p.water = append(p.water, line)
	}
	for range m.Bins {
		p.rate = append(p.rate, make([]float64, width))
	}
	for _, r := range m.Rows {
		for j, x := range r.Req {
			p.unit[j] += float64(x*r.Demand) / 1000
		}
	}
	n := 0
	for i, r := range m.Rows {
		p.line[i] = -1
		if r.Group >= 0 {
			p.line[i] = n
			p.capped = append(p.capped, i)
			n++
			continue
		}
		for j, x := range r.Req {
			if x > 0 && p.water[r.Access][j] < 0 {
				p.water[r.Access][j] = n
				n++
			}
		}
	}
	p.solve(n)
	return p
}

// solve finds the worth of all lines. It begins with what pods cost in the known plan.
func (p *fluidDuals) solve(lines int) {
	demand, paid := make([]float64, lines), make([]float64, lines)
	for i, r := range p.m.Rows {
		p.each(i, func(line int, x float64) {
			demand[line] += float64(x * r.Demand)
			paid[line] += float64(r.Cost * r.Demand)
		})
	}
	start := make([]lp.Column, lines)
	for i := range start {
		start[i] = lp.Column{Of: -1, Price: max(1, 3*paid[i]/demand[i]), Parts: []lp.Share{{Row: i, Amount: 1}}}
	}
	program := lp.NewCovering(demand, start)
	const rounds, enough = 40, int64(1) << 40
	var found lp.Stock
	for range rounds {
		p.appraise(program.Dual)
		found.Clear()
		for _, row := range append([]int{-1}, p.capped...) {
			if k := p.bestBin(row); k >= 0 {
				found.Add(p.filled(k, row, program.Dual))
			}
		}
		// The price may stay where it is while the worth of lines still moves, so it does not say when to end.
		left := enough
		moved := program.Settle(&found, &left)
		p.work += enough - left
		if !moved {
			break
		}
	}
	p.appraise(program.Dual)
}

// each visits the lines that a pod of the row counts for, with how much.
func (p *fluidDuals) each(row int, visit func(line int, x float64)) {
	if p.line[row] >= 0 {
		visit(p.line[row], 1)
		return
	}
	r := p.m.Rows[row]
	for j, x := range r.Req {
		if x > 0 {
			visit(p.water[r.Access][j], x/p.unit[j])
		}
	}
}

func (p *fluidDuals) appraise(dual []float64) {
	for i := range p.worth {
		p.worth[i] = 0
		p.each(i, func(line int, x float64) { p.worth[i] += float64(dual[line] * x) })
	}
	for k := range p.m.Bins {
		clear(p.rate[k])
		for a, lines := range p.water {
			if p.m.Bins[k].Access&(1<<a) == 0 {
				continue
			}
			for j, line := range lines {
				if line >= 0 {
					p.rate[k][j] = max(p.rate[k][j], dual[line]/p.unit[j])
				}
			}
		}
	}
	p.work += int64(len(p.m.Bins) * len(p.water) / 4)
}

// carries is the most that the kind could carry next to a pod of the row, or by itself for row -1, were the rest water; 0
// if the pod does not fit.
func (p *fluidDuals) carries(k, row int, worth []float64) float64 {
	kind := &p.m.Bins[k]
	value := 0.0
	if row >= 0 {
		r := p.m.Rows[row]
		if kind.Access&(1<<r.Access) == 0 {
			return 0
		}
		for j, x := range r.Req {
			if x > kind.Net[j] {
				return 0
			}
			value -= float64(p.rate[k][j] * x)
		}
		value += worth[row]
	}
	for j, x := range kind.Net {
		value += float64(p.rate[k][j] * x)
	}
	return value
}

// bestBin is the kind that carries most for its price with a pod of the row; -1 if none carries more than it costs.
func (p *fluidDuals) bestBin(row int) int {
	best, most := -1, 1+1e-4
	for k := range p.m.Bins {
		if x := p.carries(k, row, p.worth) / p.m.Bins[k].Price; x > most {
			best, most = k, x
		}
	}
	p.work += int64(len(p.m.Bins))
	return best
}

// filled is the kind with a pod of the row, if any, and the water that is worth most.
func (p *fluidDuals) filled(k, row int, dual []float64) lp.Column {
	kind := &p.m.Bins[k]
	c := lp.Column{Of: k, Price: kind.Price}
	for j, x := range kind.Net {
		if row >= 0 {
			x -= p.m.Rows[row].Req[j]
		}
		best, most := -1, 0.0
		for a, lines := range p.water {
			if line := lines[j]; line >= 0 && kind.Access&(1<<a) != 0 && dual[line] > most {
				best, most = line, dual[line]
			}
		}
		if best >= 0 && x > 0 {
			c.Parts = append(c.Parts, lp.Share{Row: best, Amount: x / p.unit[j]})
		}
	}
	if row >= 0 {
		c.Parts = append(c.Parts, lp.Share{Row: p.line[row], Amount: 1})
	}
	return c
}
