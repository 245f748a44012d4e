package bound

import (
	"math"
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/lp"
)

// What is no instance: a row that stands for another, and a way to deal pods out over zones.
const (
	notLaunched = -1
	ofDeal      = -2
)

// summarise makes the program's constraints sums over the rows that may go to the same instances: one for each resource,
// and one for each limit per host.
func (s *search) summarise() {
	type of struct{ choice, what int }
	index := map[of]int{}
	s.sums, s.summing = make([][]lp.Share, len(s.rows)), true
	s.constraints = 0
	put := func(row int, key of, x float64) {
		at, ok := index[key]
		if !ok {
			at = s.constraints
			s.constraints++
			index[key] = at
		}
		s.sums[row] = append(s.sums[row], lp.Share{Row: at, Amount: x})
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
			s.ceilings[x.Row] = max(s.ceilings[x.Row], 2*s.alone[i]/x.Amount)
		}
	}
}

// spell makes the program's constraints the rows themselves, and for each deal one more: that its pods are dealt out.
func (s *search) spell() {
	s.constraints, s.summing = len(s.rows)+len(s.deals), false
	for i := range s.rows {
		s.sums[i] = []lp.Share{{Row: i, Amount: 1}}
	}
	s.ceilings = make([]float64, len(s.rows))
}

// needs are the least amounts of the program's constraints.
func (s *search) needs() []float64 {
	need := make([]float64, s.constraints)
	wanted := make([]float64, len(s.rows))
	for i := range s.rows {
		wanted[i] = s.rows[i].count
	}
	for k := range s.deals {
		d := &s.deals[k]
		left, room := d.count, 0.0
		for j := range d.rows {
			left -= d.least[j]
			room += d.most[j] - d.least[j]
		}
		for j, at := range d.rows {
			if at < 0 {
				continue
			}
			wanted[at] = 0
			if s.summing {
				wanted[at] = d.least[j]
				if room > 0 {
					wanted[at] += left * (d.most[j] - d.least[j]) / room // somewhere near: this is but a start
				}
			}
		}
		if !s.summing {
			need[len(s.rows)+k] = 1
		}
	}
	for i, sums := range s.sums {
		for _, x := range sums {
			need[x.Row] += x.Amount * wanted[i]
		}
	}
	return need
}

// dealtOut are columns that deal the pods of a deal out over its zones: at first a few ways, afterwards for each deal the
// way that costs least at the program's present values, if that improves the program.
func (s *search) dealtOut(first bool) []lp.Column {
	var out []lp.Column
	add := func(k int, amounts []float64) {
		c := lp.Column{Of: ofDeal, Parts: []lp.Share{{Row: len(s.rows) + k, Amount: 1}}}
		for j, at := range s.deals[k].rows {
			if at >= 0 && amounts[j] > 0 {
				c.Parts = append(c.Parts, lp.Share{Row: at, Amount: -amounts[j]})
			}
		}
		if first || s.master.Reduced(&c) < -1e-9*s.ceilingOf(k) {
			out = append(out, c)
		}
	}
	for k := range s.deals {
		d := &s.deals[k]
		if !first {
			add(k, d.amounts(func(j int) float64 {
				if d.rows[j] < 0 {
					return 0
				}
				return s.master.Dual[d.rows[j]]
			}))
			continue
		}
		for turn := range d.rows {
			add(k, d.amounts(func(j int) float64 { return float64((j + turn) % len(d.rows)) }))
		}
	}
	return out
}

// ceilingOf is more than the pods of a deal cost.
func (s *search) ceilingOf(k int) float64 {
	most := 0.0
	for _, at := range s.deals[k].rows {
		if at >= 0 {
			most = max(most, s.alone[at])
		}
	}
	return 2 * most * s.deals[k].count
}

// summed writes a filling as what it adds to the constraints.
func (s *search) summed(filling []lp.Share) []lp.Share {
	var out []lp.Share
	for _, f := range filling {
		for _, x := range s.sums[f.Row] {
			at, ok := slices.BinarySearchFunc(out, x.Row, func(o lp.Share, row int) int { return o.Row - row })
			if !ok {
				out = slices.Insert(out, at, lp.Share{Row: x.Row})
			}
			out[at].Amount += f.Amount * x.Amount
		}
	}
	return out
}

// priceAlone finds what a pod of each row costs on the instance that is cheapest for it.
func (s *search) priceAlone() {
	s.alone = make([]float64, len(s.rows))
	for i := range s.instances {
		m := &s.instances[i]
		for j, at := range m.rows {
			if each := m.price / m.most[j]; m.ledger < 0 && (s.alone[at] == 0 || each < s.alone[at]) {
				s.alone[at] = each
			}
		}
	}
}

// restart makes the linear program with no columns but the ceilings.
func (s *search) restart() {
	need := s.needs()
	first := make([]lp.Column, s.constraints)
	for i := range first {
		first[i] = lp.Column{Parts: []lp.Share{{Row: i, Amount: 1}}}
		if i < len(s.ceilings) {
			first[i].Price = s.ceilings[i]
		} else {
			first[i].Price = s.ceilingOf(i - len(s.rows))
		}
	}
	for _, l := range s.ledgers {
		need = append(need, l.times)
	}
	if s.master != nil {
		s.lpSteps += s.master.Steps
	}
	s.master = lp.NewProgram(need, s.constraints, first)
	if !s.summing {
		s.exchange()
		for _, c := range s.dealtOut(true) {
			s.master.Add(c)
		}
	}
	s.master.Reprice()
}

// resume makes the linear program anew for narrower rules, with what the columns hold by those.
func (s *search) resume() {
	old := s.master.Columns[s.constraints:]
	clear(s.ceilings)
	s.restart()
	for _, c := range old {
		if c.Of == ofDeal {
			s.master.Add(c)
		}
		if c.Of < 0 {
			continue
		}
		m := &s.instances[c.Of]
		parts := c.Parts[:0]
		for _, p := range c.Parts {
			at, ok := slices.BinarySearch(m.rows, p.Row)
			if !ok {
				continue
			}
			p.Amount = min(p.Amount, m.most[at])
			if s.wholePods {
				p.Amount = math.Floor(p.Amount + 1e-9)
			}
			if p.Amount > 0 {
				parts = append(parts, p)
			}
		}
		c.Parts = parts
		s.master.Add(c)
	}
}

// setCeilings moves the ceilings up with the best values. The first columns of the program are the ceilings.
func (s *search) setCeilings(headroom float64) {
	for i := range s.ceilings {
		if headroom > 0 {
			s.ceilings[i] = min(s.alone[i], max(s.ceilings[i], s.best[i]*(1+headroom), s.alone[i]/50))
		}
		s.master.Columns[i].Price = s.ceilings[i]
	}
}

// ceilingsInUse are the rows of which the program has some from nowhere. A ceiling as high as what the row costs alone
// is none: that much can be launched.
func (s *search) ceilingsInUse() []int {
	var out []int
	for i, v := range s.master.Basis {
		if v >= 0 && v < s.constraints && s.master.Amount[i] > 1e-7*s.master.Need[v] &&
			(s.summing || v < len(s.rows) && s.ceilings[v] < s.alone[v]) {
			out = append(out, v)
		}
	}
	return out
}
