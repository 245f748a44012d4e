package pack

import "math"

// A covering program: choose columns, each with a price and so many pods of some rows, so that every row's demand is met
// at the least price. Solved by the simplex method with the inverse of the basis kept as a dense matrix, which is small.
//
// Products are converted to float64 before they are added, so that no machine fuses the two steps: the same input gives
// the same figures on every architecture.

// column is a filled machine as the program sees it.
type column struct {
	kind  int // position in the model's kinds; -1 for what is more than the demand
	price float64
	rows  []int
	n     []float64
}

type covering struct {
	m     int
	basis []column
	inv   []float64 // m*m
	x     []float64 // amounts of the basic columns
	dual  []float64 // worth of one pod of each row
	step  []float64
}

// newCovering starts from columns that serve one row each, in the order of rows.
func newCovering(demand []float64, start []column) *covering {
	m := len(demand)
	c := &covering{m: m, basis: start, inv: make([]float64, m*m), x: make([]float64, m), dual: make([]float64, m), step: make([]float64, m)}
	for i, col := range start {
		c.inv[i*m+i] = 1 / col.n[0]
		// A little more of each row, different for all, keeps the method from going in circles.
		c.x[i] = demand[i] * (1 + float64(1e-7*float64(1+i%97))) / col.n[0]
		c.dual[i] = col.price / col.n[0]
	}
	return c
}

// saving is what the column costs less than its pods are worth.
func (c *covering) saving(col *column) float64 {
	worth := 0.0
	for k, r := range col.rows {
		worth += float64(c.dual[r] * col.n[k])
	}
	return worth - col.price
}

// cheapest is the column that saves most for its price; nil if none saves anything.
func (c *covering) cheapest(pool []column) *column {
	best, most := -1, 1e-6
	for i := range pool {
		if s := c.saving(&pool[i]) / pool[i].price; s > most {
			best, most = i, s
		}
	}
	if best < 0 {
		return nil
	}
	return &pool[best]
}

// enter brings the column into the basis if that lowers the price; false if it does not.
func (c *covering) enter(col column) bool {
	saving := c.saving(&col)
	if saving <= 1e-7*max(1, col.price) {
		return false
	}
	for i := range c.m {
		sum := 0.0
		line := c.inv[i*c.m : (i+1)*c.m]
		for k, r := range col.rows {
			sum += float64(line[r] * col.n[k])
		}
		c.step[i] = sum
	}
	out, least := -1, math.Inf(1)
	for i, a := range c.step {
		if a > 1e-9 {
			if ratio := c.x[i] / a; ratio < least {
				out, least = i, ratio
			}
		}
	}
	if out < 0 {
		return false // can't be: prices are not negative
	}
	c.pivot(out, least, saving, col)
	return true
}

func (c *covering) pivot(out int, amount, saving float64, col column) {
	m := c.m
	for i, a := range c.step {
		c.x[i] -= float64(a * amount)
		if c.x[i] < 0 {
			c.x[i] = 0
		}
	}
	c.x[out] = amount
	line := c.inv[out*m : (out+1)*m]
	by := 1 / c.step[out]
	for j := range line {
		line[j] *= by
	}
	for i, a := range c.step {
		if i == out || a == 0 {
			continue
		}
		other := c.inv[i*m : (i+1)*m]
		for j, x := range line {
			if x != 0 {
				other[j] -= float64(a * x)
			}
		}
	}
	for j, x := range line {
		c.dual[j] -= float64(saving * x)
	}
	c.basis[out] = col
}

// settle brings columns of the pool in for as long as that lowers the price and there is work left. It reports whether
// any came in.
func (c *covering) settle(pool []column, work *int64) bool {
	pivot, moved := int64(c.m*c.m)/16+1, false
	for *work > 0 {
		col := c.cheapest(pool)
		*work -= int64(len(pool)) / 2
		if col == nil || !c.enter(*col) {
			break
		}
		moved = true
		*work -= pivot
		for c.relax() && *work > 0 {
			*work -= pivot
		}
	}
	return moved
}

// raise makes leaving out dearer, where more than a trace of a row is left out. It reports whether that is anywhere.
func (c *covering) raise(demand []float64, by float64) bool {
	any := false
	for i := range c.basis {
		if b := &c.basis[i]; b.kind < 0 && b.n[0] > 0 && c.x[i] > 1e-3*demand[b.rows[0]] {
			b.price *= by
			any = true
		}
	}
	if !any {
		return false
	}
	clear(c.dual)
	for i := range c.basis {
		if p := c.basis[i].price; p != 0 {
			for j, x := range c.inv[i*c.m : (i+1)*c.m] {
				c.dual[j] += float64(p * x)
			}
		}
	}
	for c.relax() {
		continue
	}
	return true
}

// relax drops what makes a row worth less than nothing: too much of it is then the cheaper way.
func (c *covering) relax() bool {
	any := false
	for r := range c.m {
		if c.dual[r] < -1e-7 {
			any = c.enter(column{kind: -1, rows: []int{r}, n: []float64{-1}}) || any
		}
	}
	return any
}

// price is that of the solution.
func (c *covering) price() float64 {
	sum := 0.0
	for i := range c.basis {
		sum += float64(c.basis[i].price * c.x[i])
	}
	return sum
}
