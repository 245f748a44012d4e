package pack

// A prior is what pods are worth if new nodes could be filled to the last with what is not capped by host, as if it were
// water: a core costs the same on every pod, and so does a gigabyte. It is found in a moment, because the program has one
// line for each resource and access class and one for each row that is capped, and it is near what pods turn out to be
// worth on real fillings. The large program starts from there.
type fluidDuals struct {
	m *cuttingStock
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

func newFluidDuals(m *cuttingStock) *fluidDuals {
	width := len(m.rows[0].req)
	p := &fluidDuals{m: m, line: make([]int, len(m.rows)), worth: make([]float64, len(m.rows)), unit: make([]float64, width)}
	for range m.places {
		line := make([]int, width)
		for j := range line {
			line[j] = -1
		}
		p.water = append(p.water, line)
	}
	for range m.bins {
		p.rate = append(p.rate, make([]float64, width))
	}
	for _, r := range m.rows {
		for j, x := range r.req {
			p.unit[j] += float64(x*r.demand) / 1000
		}
	}
	n := 0
	for i, r := range m.rows {
		p.line[i] = -1
		if r.group >= 0 {
			p.line[i] = n
			p.capped = append(p.capped, i)
			n++
			continue
		}
		for j, x := range r.req {
			if x > 0 && p.water[r.access][j] < 0 {
				p.water[r.access][j] = n
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
	for i, r := range p.m.rows {
		p.each(i, func(line int, x float64) {
			demand[line] += float64(x * r.demand)
			paid[line] += float64(r.value() * r.demand)
		})
	}
	start := make([]pattern, lines)
	for i := range start {
		start[i] = pattern{bin: -1, price: max(1, 3*paid[i]/demand[i]), rows: []int{i}, n: []float64{1}}
	}
	lp := newCovering(demand, start)
	const rounds, enough = 40, int64(1) << 40
	var found stock
	for range rounds {
		p.appraise(lp.dual)
		found.clear()
		for _, row := range append([]int{-1}, p.capped...) {
			if k := p.bestBin(row); k >= 0 {
				found.add(p.filled(k, row, lp.dual))
			}
		}
		before := lp.price()
		left := enough
		lp.settle(&found, &left)
		p.work += enough - left
		if len(found.patterns) == 0 || lp.price() > before*(1-1e-6) {
			break
		}
	}
	p.appraise(lp.dual)
}

// each visits the lines that a pod of the row counts for, with how much.
func (p *fluidDuals) each(row int, visit func(line int, x float64)) {
	if p.line[row] >= 0 {
		visit(p.line[row], 1)
		return
	}
	r := p.m.rows[row]
	for j, x := range r.req {
		if x > 0 {
			visit(p.water[r.access][j], x/p.unit[j])
		}
	}
}

func (p *fluidDuals) appraise(dual []float64) {
	for i := range p.worth {
		p.worth[i] = 0
		p.each(i, func(line int, x float64) { p.worth[i] += float64(dual[line] * x) })
	}
	for k := range p.m.bins {
		clear(p.rate[k])
		for a, lines := range p.water {
			if p.m.bins[k].access&(1<<a) == 0 {
				continue
			}
			for j, line := range lines {
				if line >= 0 {
					p.rate[k][j] = max(p.rate[k][j], dual[line]/p.unit[j])
				}
			}
		}
	}
	p.work += int64(len(p.m.bins) * len(p.water) / 4)
}

// carries is the most that the kind could carry next to a pod of the row, or by itself for row -1, were the rest water; 0
// if the pod does not fit.
func (p *fluidDuals) carries(k, row int, worth []float64) float64 {
	kind := &p.m.bins[k]
	value := 0.0
	if row >= 0 {
		r := p.m.rows[row]
		if kind.access&(1<<r.access) == 0 {
			return 0
		}
		for j, x := range r.req {
			if x > kind.net[j] {
				return 0
			}
			value -= float64(p.rate[k][j] * x)
		}
		value += worth[row]
	}
	for j, x := range kind.net {
		value += float64(p.rate[k][j] * x)
	}
	return value
}

// bestBin is the kind that carries most for its price with a pod of the row; -1 if none carries more than it costs.
func (p *fluidDuals) bestBin(row int) int {
	best, most := -1, 1+1e-4
	for k := range p.m.bins {
		if x := p.carries(k, row, p.worth) / p.m.bins[k].price; x > most {
			best, most = k, x
		}
	}
	p.work += int64(len(p.m.bins))
	return best
}

// filled is the kind with a pod of the row, if any, and the water that is worth most.
func (p *fluidDuals) filled(k, row int, dual []float64) pattern {
	kind := &p.m.bins[k]
	c := pattern{bin: k, price: kind.price}
	for j, x := range kind.net {
		if row >= 0 {
			x -= p.m.rows[row].req[j]
		}
		best, most := -1, 0.0
		for a, lines := range p.water {
			if line := lines[j]; line >= 0 && kind.access&(1<<a) != 0 && dual[line] > most {
				best, most = line, dual[line]
			}
		}
		if best >= 0 && x > 0 {
			c.rows, c.n = append(c.rows, best), append(c.n, x/p.unit[j])
		}
	}
	if row >= 0 {
		c.rows, c.n = append(c.rows, p.line[row]), append(c.n, 1)
	}
	return c
}
