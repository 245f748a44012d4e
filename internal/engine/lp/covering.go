package lp

import "math"

// batch is how many pivots are collected before the inverse as a whole follows. Four at once cost it a third of what they
// do one by one: it is read and written once for all of them.
const batch = 4

// Covering is a covering program: choose columns so that every row's demand is met at the least price. It is solved by the
// simplex method with the inverse of the basis kept as a dense matrix, which is small. Columns with Of below zero stand
// for what is left out of a row, or for more of it than its demand.
//
// Concurrency: not safe.
type Covering struct {
	Basis []Column
	X     []float64 // amounts of the basic columns
	Dual  []float64 // worth of one of each row

	m    int
	inv  []float64 // m*m, less the pivots that are due
	step []float64
	// Of the pivots that are due: what each takes off the lines of the inverse, which is the due line times the line's due
	// step. Lines that were needed since then have had it taken off already, and a due step of 0.
	due      int
	dueSteps [batch][]float64
	dueLines [batch][]float64
	at       []float64 // scratch space: a column of the inverse
}

// NewCovering starts from columns that serve one row each, in the order of rows.
func NewCovering(demand []float64, start []Column) *Covering {
	m := len(demand)
	c := &Covering{m: m, Basis: start, inv: make([]float64, m*m)}
	vectors := make([]float64, (4+2*batch)*m)
	next := func() []float64 {
		v := vectors[:m:m]
		vectors = vectors[m:]
		return v
	}
	c.X, c.Dual, c.step, c.at = next(), next(), next(), next()
	for i := range batch {
		c.dueSteps[i], c.dueLines[i] = next(), next()
	}
	for i, col := range start {
		c.inv[i*m+i] = 1 / col.Parts[0].Amount
		// A little more of each row, different for all, keeps the method from going in circles.
		c.X[i] = demand[i] * (1 + float64(1e-7*float64(1+i%97))) / col.Parts[0].Amount
		c.Dual[i] = col.Price / col.Parts[0].Amount
	}
	return c
}

// saving is what the column costs less than its pods are worth.
func (c *Covering) saving(col *Column) float64 {
	worth := 0.0
	for _, p := range col.Parts {
		worth += float64(c.Dual[p.Row] * p.Amount)
	}
	return worth - col.Price
}

// enter brings the column into the basis if that lowers the price; false if it does not.
func (c *Covering) enter(col Column) bool {
	saving := c.saving(&col)
	if saving <= 1e-7*max(1, col.Price) {
		return false
	}
	clear(c.step)
	for _, p := range col.Parts {
		n := p.Amount
		for i, x := range c.inverseAt(p.Row) {
			c.step[i] += float64(x * n)
		}
	}
	out, least := -1, math.Inf(1)
	for i, a := range c.step {
		if a > 1e-9 {
			// A little more than the least is no less; a division costs more than to see that.
			if x := c.X[i]; x <= float64(least*a)*(1+1e-12) {
				if ratio := x / a; ratio < least {
					out, least = i, ratio
				}
			}
		}
	}
	if out < 0 {
		return false // can't be: prices are not negative
	}
	c.pivot(out, least, saving, col)
	return true
}

// inverseAt is the column of the inverse for the row, all due pivots taken off; until the next call.
func (c *Covering) inverseAt(row int) []float64 {
	at := c.at
	for i := range at {
		at[i] = c.inv[i*c.m+row]
	}
	for p := range c.due {
		x := c.dueLines[p][row]
		if x == 0 {
			continue
		}
		for i, a := range c.dueSteps[p][:len(at)] {
			at[i] -= float64(a * x)
		}
	}
	return at
}

func (c *Covering) pivot(out int, amount, saving float64, col Column) {
	m := c.m
	for i, a := range c.step {
		c.X[i] -= float64(a * amount)
		if c.X[i] < 0 {
			c.X[i] = 0
		}
	}
	c.X[out] = amount
	line := c.inv[out*m : (out+1)*m]
	for p := range c.due {
		if a := c.dueSteps[p][out]; a != 0 {
			for j, x := range c.dueLines[p][:len(line)] {
				line[j] -= float64(a * x)
			}
			c.dueSteps[p][out] = 0
		}
	}
	by := 1 / c.step[out]
	for j := range line {
		line[j] *= by
	}
	for j, x := range line {
		c.Dual[j] -= float64(saving * x)
	}
	copy(c.dueLines[c.due], line)
	copy(c.dueSteps[c.due], c.step)
	c.dueSteps[c.due][out] = 0
	c.Basis[out] = col
	if c.due++; c.due == batch {
		c.catchUp()
	}
}

// catchUp carries the pivots out that are due, on every line in the order in which they came.
func (c *Covering) catchUp() {
	for p := c.due; p < batch; p++ {
		clear(c.dueSteps[p])
	}
	c.due = 0
	m := c.m
	l0, l1, l2, l3 := c.dueLines[0][:m], c.dueLines[1][:m], c.dueLines[2][:m], c.dueLines[3][:m]
	for i := range m {
		a0, a1, a2, a3 := c.dueSteps[0][i], c.dueSteps[1][i], c.dueSteps[2][i], c.dueSteps[3][i]
		if a0 == 0 && a1 == 0 && a2 == 0 && a3 == 0 {
			continue
		}
		line := c.inv[i*m : (i+1)*m][:m]
		for j, x := range line {
			x -= float64(a0 * l0[j])
			x -= float64(a1 * l1[j])
			x -= float64(a2 * l2[j])
			x -= float64(a3 * l3[j])
			line[j] = x
		}
	}
}

// Settle brings columns of the stock in for as long as that lowers the price and there is work left. It reports whether
// any came in.
func (c *Covering) Settle(stock *Stock, work *int64) bool {
	pivot, moved := int64(c.m*c.m)/16+1, false
	for *work > 0 {
		col := stock.Cheapest(c.Dual)
		*work -= int64(len(stock.Columns)) / 2
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

// Raise makes leaving out dearer, where more than a trace of a row is left out. It reports whether that is anywhere.
func (c *Covering) Raise(demand []float64, by float64) bool {
	any := false
	for i := range c.Basis {
		if b := &c.Basis[i]; b.Of < 0 && b.Parts[0].Amount > 0 && c.X[i] > 1e-3*demand[b.Parts[0].Row] {
			b.Price *= by
			any = true
		}
	}
	if !any {
		return false
	}
	c.catchUp()
	clear(c.Dual)
	for i := range c.Basis {
		if p := c.Basis[i].Price; p != 0 {
			for j, x := range c.inv[i*c.m : (i+1)*c.m] {
				c.Dual[j] += float64(p * x)
			}
		}
	}
	for c.relax() {
		continue
	}
	return true
}

// relax drops what makes a row worth less than nothing: too much of it is then the cheaper way.
func (c *Covering) relax() bool {
	any := false
	for r := range c.m {
		if c.Dual[r] < -1e-7 {
			any = c.enter(Column{Of: -1, Parts: []Share{{r, -1}}}) || any
		}
	}
	return any
}

// Price is that of the solution.
func (c *Covering) Price() float64 {
	sum := 0.0
	for i := range c.Basis {
		sum += float64(c.Basis[i].Price * c.X[i])
	}
	return sum
}
