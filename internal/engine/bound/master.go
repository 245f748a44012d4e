package bound

import (
	"math"
	"slices"
)

// What is no instance: a row that stands for another, and a way to deal pods out over zones.
const (
	notLaunched = -1
	ofDeal      = -2
)

// column is a way to fill an instance.
type column struct {
	instance int // of search.instances; or notBought or ofDeal
	price    float64
	parts    []share
	ledger   int // -1: none
	size     float64
}

// master is the linear program
//
//	minimise    sum of price*x
//	subject to  every row is covered, every ledger holds out, x >= 0
//
// over the columns known so far, solved by the revised simplex method with an explicit inverse. It starts from a basis
// of columns that hold one row each.
type master struct {
	rows    int
	size    int // rows and ledgers
	need    []float64
	columns []column
	basis   []int // column; or -1-i for the surplus of row i or the rest of ledger i-rows
	inBasis []bool
	restIn  []bool // by constraint: its surplus or rest is in the basis
	inv     []float64
	amount  []float64 // of the basic variables
	dual    []float64
	alpha   []float64
	pivots  int
	steps   int64
	sinceOK int // pivots since the inverse was last made anew
}

// newMaster makes the program; first holds for every row a column that covers it alone.
func newMaster(need []float64, rows int, first []column) *master {
	m := &master{rows: rows, size: len(need), need: slices.Clone(need)}
	for i := range m.rows {
		// Equal needs make many bases equally good; a little noise tells them apart. Bounds don't use these numbers.
		m.need[i] = max(m.need[i], 1e-7) * (1 + 1e-7*float64(i*7919%1009)/1009)
	}
	m.inv = make([]float64, m.size*m.size)
	m.restIn = make([]bool, m.size)
	m.dual, m.alpha, m.amount = make([]float64, m.size), make([]float64, m.size), make([]float64, m.size)
	for i := range m.size {
		if i < rows {
			m.add(first[i])
			m.inBasis[i] = true
			m.basis = append(m.basis, i)
			continue
		}
		m.basis = append(m.basis, -1-i)
		m.restIn[i] = true
	}
	m.invert()
	return m
}

func (m *master) add(c column) {
	c.size = 0
	for _, p := range c.parts {
		c.size += p.amount * p.amount
	}
	c.size = math.Sqrt(1 + c.size)
	m.columns = append(m.columns, c)
	m.inBasis = append(m.inBasis, false)
}

// each calls f with every entry of a variable's column.
func (m *master) each(v int, f func(i int, x float64)) {
	if v < 0 {
		i := -1 - v
		if i < m.rows {
			f(i, -1)
		} else {
			f(i, 1)
		}
		return
	}
	c := &m.columns[v]
	for _, p := range c.parts {
		f(p.row, p.amount)
	}
	if c.ledger >= 0 {
		f(m.rows+c.ledger, 1)
	}
}

func (m *master) price(v int) float64 {
	if v < 0 {
		return 0
	}
	return m.columns[v].price
}

// solve runs until no column improves the cost or the steps are used up; it reports whether it came to the end.
func (m *master) solve(steps int64) bool {
	end := m.steps + steps
	m.duals()
	for m.steps < end {
		enter, ok := m.entering()
		if !ok {
			if m.sinceOK > 0 && !m.exact() {
				m.invert()
				m.duals()
				continue
			}
			return true
		}
		if !m.pivot(enter) {
			return true // can't happen: prices are not negative
		}
		if m.sinceOK >= 400 {
			m.invert()
			m.duals()
		}
	}
	return false
}

func (m *master) duals() {
	clear(m.dual)
	for i, v := range m.basis {
		if c := m.price(v); c != 0 {
			row := m.inv[i*m.size : (i+1)*m.size]
			for j, x := range row {
				m.dual[j] += c * x
			}
		}
	}
	m.steps += int64(m.size * m.size)
}

// cost of the present solution.
func (m *master) cost() float64 {
	sum := 0.0
	for i, v := range m.basis {
		sum += m.price(v) * m.amount[i]
	}
	return sum
}

// reduced is the cost of one more of a column, at the present duals.
func (m *master) reduced(c *column) float64 {
	d := c.price
	for _, p := range c.parts {
		d -= m.dual[p.row] * p.amount
	}
	if c.ledger >= 0 {
		d -= m.dual[m.rows+c.ledger]
	}
	return d
}

// entering is the variable that improves the cost most for its size.
func (m *master) entering() (int, bool) {
	const eps = 1e-9
	best, found, most := 0, false, 0.0
	for v := range m.columns {
		if m.inBasis[v] {
			continue
		}
		c := &m.columns[v]
		if d := m.reduced(c); d < -eps*max(1e-3, c.price) && -d/c.size > most {
			best, found, most = v, true, -d/c.size
		}
		m.steps += int64(len(c.parts))
	}
	for i, y := range m.dual {
		if i >= m.rows {
			y = -y
		}
		if y < -1e-12 && -y/math.Sqrt2 > most && !m.restIn[i] {
			best, found, most = -1-i, true, -y/math.Sqrt2
		}
	}
	return best, found
}

func (m *master) pivot(enter int) bool {
	clear(m.alpha)
	m.each(enter, func(j int, x float64) {
		for i := range m.alpha {
			m.alpha[i] += m.inv[i*m.size+j] * x
		}
		m.steps += int64(m.size)
	})
	leave, least := -1, math.Inf(1)
	for i, a := range m.alpha {
		if a <= 1e-9 {
			continue
		}
		t := max(0, m.amount[i]) / a
		if t < least-1e-12 || t <= least+1e-12 && leave >= 0 && a > m.alpha[leave] {
			leave, least = i, t
		}
	}
	if leave < 0 {
		return false
	}
	d := m.price(enter)
	m.each(enter, func(i int, x float64) { d -= m.dual[i] * x })
	p := m.alpha[leave]
	pivotRow := m.inv[leave*m.size : (leave+1)*m.size]
	for j := range pivotRow {
		pivotRow[j] /= p
		m.dual[j] += d * pivotRow[j]
	}
	for i, a := range m.alpha {
		if i == leave || a == 0 {
			continue
		}
		m.amount[i] -= least * a
		row := m.inv[i*m.size : (i+1)*m.size]
		for j, x := range pivotRow {
			row[j] -= a * x
		}
		m.steps += int64(m.size)
	}
	m.mark(m.basis[leave], false)
	m.mark(enter, true)
	m.basis[leave], m.amount[leave] = enter, least
	m.pivots++
	m.sinceOK++
	return true
}

func (m *master) mark(v int, in bool) {
	if v >= 0 {
		m.inBasis[v] = in
	} else {
		m.restIn[-1-v] = in
	}
}

// exact reports whether the amounts still satisfy the constraints as they should.
func (m *master) exact() bool {
	left := slices.Clone(m.need)
	for i, v := range m.basis {
		m.each(v, func(j int, x float64) { left[j] -= x * m.amount[i] })
	}
	for i, x := range left {
		if math.Abs(x) > 1e-6*(1+m.need[i]) {
			return false
		}
	}
	return true
}

// invert makes the inverse of the basis anew, by Gauss-Jordan elimination with pivoting, and the amounts from it.
func (m *master) invert() {
	n := m.size
	a := make([]float64, n*n)
	for i, v := range m.basis {
		m.each(v, func(j int, x float64) { a[j*n+i] += x })
	}
	clear(m.inv)
	for i := range n {
		m.inv[i*n+i] = 1
	}
	for c := range n {
		p := c
		for i := c + 1; i < n; i++ {
			if math.Abs(a[i*n+c]) > math.Abs(a[p*n+c]) {
				p = i
			}
		}
		if p != c {
			for j := range n {
				a[p*n+j], a[c*n+j] = a[c*n+j], a[p*n+j]
				m.inv[p*n+j], m.inv[c*n+j] = m.inv[c*n+j], m.inv[p*n+j]
			}
		}
		x := a[c*n+c]
		if x == 0 {
			continue // can't happen: the basis is regular
		}
		for j := range n {
			a[c*n+j] /= x
			m.inv[c*n+j] /= x
		}
		for i := range n {
			f := a[i*n+c]
			if i == c || f == 0 {
				continue
			}
			for j := range n {
				a[i*n+j] -= f * a[c*n+j]
				m.inv[i*n+j] -= f * m.inv[c*n+j]
			}
			m.steps += int64(2 * n)
		}
	}
	for i := range n {
		sum := 0.0
		for j, b := range m.need {
			sum += m.inv[i*n+j] * b
		}
		m.amount[i] = sum
	}
	m.sinceOK = 0
}
