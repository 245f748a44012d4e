package bound

import (
	"math"

	"github.com/kerf-sh/kerf/internal/engine/lp"
)

// seed evaluates values that are likely to be near the best: every row is worth its requests, at the prices of resources
// that are best for all rows which the same instances serve, as if instances and pods could be cut at will. Drawing the
// linear program towards such values from the start saves most of its rounds.
func (s *search) seed() []lp.Column {
	own := make([]float64, len(s.rows))
	all := make([]float64, len(s.rows))
	total := make([]float64, s.schema.Len())
	byChoice := map[int][]int{}
	var choices []int
	for i := range s.rows {
		row := &s.rows[i]
		if byChoice[row.choice] == nil {
			choices = append(choices, row.choice)
		}
		byChoice[row.choice] = append(byChoice[row.choice], i)
		for r, x := range row.req {
			total[r] += x * row.count
		}
	}
	for _, choice := range choices {
		demand := make([]float64, len(total))
		for _, i := range byChoice[choice] {
			for r, x := range s.rows[i].req {
				demand[r] += x * s.rows[i].count
			}
		}
		w, v := s.fluidPrices(choice, demand), s.fluidPrices(choice, total)
		for _, i := range byChoice[choice] {
			for r, x := range s.rows[i].req {
				own[i] += w[r] * x
				all[i] += v[r] * x
			}
			own[i], all[i] = min(own[i], s.alone[i]), min(all[i], s.alone[i])
		}
	}
	return append(s.priceAll(own), s.priceAll(all)...)
}

// fluidPrices are the prices of resources that make the demand worth most while no instance that serves the choice is
// worth more than it costs.
func (s *search) fluidPrices(choice int, demand []float64) []float64 {
	rows := make([]int, 0, len(demand)) // resources that are asked for
	for r, x := range demand {
		if x > 0 {
			rows = append(rows, r)
		}
	}
	first := make([]lp.Column, len(rows))
	var columns []lp.Column
	for i := range s.instances {
		m := &s.instances[i]
		if m.ledger >= 0 || !s.setHas(m.set, choice) {
			continue
		}
		c := lp.Column{Price: m.price}
		for at, r := range rows {
			if m.room[r] <= 0 {
				continue
			}
			c.Parts = append(c.Parts, lp.Share{Row: at, Amount: m.room[r]})
			if f := &first[at]; f.Parts == nil || m.price/m.room[r] < f.Price/f.Parts[0].Amount {
				*f = lp.Column{Price: m.price, Parts: []lp.Share{{Row: at, Amount: m.room[r]}}}
			}
		}
		columns = append(columns, c)
	}
	w := make([]float64, len(demand))
	need := make([]float64, len(rows))
	for at, r := range rows {
		if first[at].Parts == nil {
			return w
		}
		need[at] = demand[r]
	}
	lp := lp.NewProgram(need, len(rows), first)
	for _, c := range columns {
		lp.Add(c)
	}
	lp.Solve(math.MaxInt64 / 2)
	for at, r := range rows {
		w[r] = max(0, lp.Dual[at])
	}
	return w
}
