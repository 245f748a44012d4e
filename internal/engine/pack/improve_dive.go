package pack

import (
	"cmp"
	"slices"
)

// branchAndBound searches for the most valuable filling by branch and bound: rows in the order of worth per size, as many as fit
// first, and back from there as long as a fraction of the next row in all that is left would be worth enough. Where it is
// not finished after so many steps, the best filling so far is kept.
type branchAndBound struct {
	bag   *knapsack
	worth []float64
	rate  []float64 // what makes amounts of resources comparable
	rows  []int
	dense []float64 // by row: worth per size
	best  float64
	steps int
}

// mostSteps of a dive. More find little more: new nodes with few pods are searched to the end, those with many are well
// filled by the simple rule.
const mostSteps = 300

// deepen looks for a filling of the kind that is worth more than best, on top of what is on the bag.
func (b *knapsack) deepen(at int, worth []float64, value, best float64) float64 {
	d := &b.search
	d.bag, d.worth, d.best, d.steps = b, worth, best, mostSteps
	d.rate = append(d.rate[:0], b.m.fluid.rate[at]...)
	for j, x := range d.rate {
		// Any rates bound what fits, as long as none is zero.
		if x == 0 {
			d.rate[j] = b.m.bins[at].price / (1e6 * max(1, b.m.bins[at].net[j]))
		}
	}
	d.rows = append(d.rows[:0], b.rows...)
	for _, i := range d.rows {
		size := 0.0
		for j, x := range b.m.rows[i].req {
			size += float64(d.rate[j] * x)
		}
		d.dense[i] = worth[i] / max(size, 1e-9)
	}
	slices.SortStableFunc(d.rows, func(x, y int) int { return cmp.Compare(d.dense[y], d.dense[x]) })
	d.down(0, value)
	b.work += int64(mostSteps - d.steps)
	return d.best
}

func (d *branchAndBound) down(from int, value float64) {
	b := d.bag
	if value > d.best*(1+1e-9) {
		d.best = value
		copy(b.found, b.n)
	}
	room := 0.0
	for j, x := range b.room {
		room += float64(d.rate[j] * x)
	}
	for p := from; p < len(d.rows); p++ {
		i := d.rows[p]
		if value+float64(d.dense[i]*room) <= d.best*(1+1e-4) {
			return
		}
		if d.steps--; d.steps < 0 {
			return
		}
		if b.takes(i) {
			d.down(p, value+b.add(i, 1, d.worth))
			b.add(i, -1, d.worth)
		}
	}
}

// takes reports whether one more pod of the row has a place.
func (b *knapsack) takes(i int) bool {
	r := b.m.rows[i]
	if b.n[i]+1 > r.demand || r.group >= 0 && b.caps[r.group] == 0 {
		return false
	}
	for j, x := range r.req {
		if x > b.room[j] {
			return false
		}
	}
	return true
}
