package lp

import (
	"math"
	"slices"
)

// Program is the linear program
//
//	minimise    sum of price*x
//	subject to  every row is covered, every ledger holds out, x >= 0
//
// over the columns known so far, solved by the revised simplex method with an explicit inverse. It starts from a basis
// of columns that hold one row each. Its constraints are the rows, then the ledgers.
//
// Whoever changes the price of a column calls Reprice before the next Solve.
//
// Concurrency: not safe.
type Program struct {
	rows    int
	size    int       // rows and ledgers
	Need    []float64 // by constraint, a little more than was asked for
	Columns []Column
	sizes   []float64 // of the columns' parts, for pricing
	Basis   []int     // column; or -1-i for the surplus of row i or the rest of ledger i-rows
	inBasis []bool
	restIn  []bool // by constraint: its surplus or rest is in the basis
	inv     []float64
	Amount  []float64 // of the basic variables, in the order of Basis
	Dual    []float64 // by constraint
	alpha   []float64
	Pivots  int
	Steps   int64 // multiplications, about
	sinceOK int   // pivots since the inverse was last made anew
}

// NewProgram makes the program of the needs of so many rows and then of the ledgers; first holds for every row a column
// that covers it alone.
func NewProgram(need []float64, rows int, first []Column) *Program {
	m := &Program{rows: rows, size: len(need), Need: slices.Clone(need)}
	for i := range m.rows {
		// Equal needs make many bases equally good; a little noise tells them apart. Bounds don't use these numbers.
		m.Need[i] = max(m.Need[i], 1e-7) * (1 + 1e-7*float64(i*7919%1009)/1009)
	}
	m.inv = make([]float64, m.size*m.size)
	m.restIn = make([]bool, m.size)
	m.Dual, m.alpha, m.Amount = make([]float64, m.size), make([]float64, m.size), make([]float64, m.size)
	for i := range m.size {
		if i < rows {
			m.Add(first[i])
			m.inBasis[i] = true
			m.Basis = append(m.Basis, i)
			continue
		}
		m.Basis = append(m.Basis, -1-i)
		m.restIn[i] = true
	}
	m.invert()
	return m
}

// Add makes a column known.
func (m *Program) Add(c Column) {
	size := 0.0
	for _, p := range c.Parts {
		size += p.Amount * p.Amount
	}
	m.sizes = append(m.sizes, math.Sqrt(1+size))
	m.Columns = append(m.Columns, c)
	m.inBasis = append(m.inBasis, false)
}

// each calls f with every entry of a variable's column.
func (m *Program) each(v int, f func(i int, x float64)) {
	if v < 0 {
		i := -1 - v
		if i < m.rows {
			f(i, -1)
		} else {
			f(i, 1)
		}
		return
	}
	c := &m.Columns[v]
	for _, p := range c.Parts {
		f(p.Row, p.Amount)
	}
	if c.Ledger > 0 {
		f(m.rows+c.Ledger-1, 1)
	}
}

func (m *Program) price(v int) float64 {
	if v < 0 {
		return 0
	}
	return m.Columns[v].Price
}

// Solve runs until no column improves the cost or the steps are used up; it reports whether it came to the end.
func (m *Program) Solve(steps int64) bool {
	end := m.Steps + steps
	m.Reprice()
	for m.Steps < end {
		enter, ok := m.entering()
		if !ok {
			if m.sinceOK > 0 && !m.exact() {
				m.invert()
				m.Reprice()
				continue
			}
			return true
		}
		if !m.pivot(enter) {
			return true // can't happen: prices are not negative
		}
		if m.sinceOK >= 400 {
			m.invert()
			m.Reprice()
		}
	}
	return false
}

// Reprice works out the duals of the present basis.
func (m *Program) Reprice() {
	clear(m.Dual)
	for i, v := range m.Basis {
		if c := m.price(v); c != 0 {
			row := m.inv[i*m.size : (i+1)*m.size]
			for j, x := range row {
				m.Dual[j] += c * x
			}
		}
	}
	m.Steps += int64(m.size * m.size)
}

// Cost of the present solution.
func (m *Program) Cost() float64 {
	sum := 0.0
	for i, v := range m.Basis {
		sum += m.price(v) * m.Amount[i]
	}
	return sum
}

// Reduced is the cost of one more of a column, at the present duals.
func (m *Program) Reduced(c *Column) float64 {
	d := c.Price
	for _, p := range c.Parts {
		d -= m.Dual[p.Row] * p.Amount
	}
	if c.Ledger > 0 {
		d -= m.Dual[m.rows+c.Ledger-1]
	}
	return d
}

// entering is the variable that improves the cost most for its size.
func (m *Program) entering() (int, bool) {
	const eps = 1e-9
	best, found, most := 0, false, 0.0
	for v := range m.Columns {
		if m.inBasis[v] {
			continue
		}
		c := &m.Columns[v]
		if d := m.Reduced(c); d < -eps*max(1e-3, c.Price) && -d/m.sizes[v] > most {
			best, found, most = v, true, -d/m.sizes[v]
		}
		m.Steps += int64(len(c.Parts))
	}
	for i, y := range m.Dual {
		if i >= m.rows {
			y = -y
		}
		if y < -1e-12 && -y/math.Sqrt2 > most && !m.restIn[i] {
			best, found, most = -1-i, true, -y/math.Sqrt2
		}
	}
	return best, found
}

// pivot brings the variable into the basis; false if nothing would have to leave it.
func (m *Program) pivot(enter int) bool {
	clear(m.alpha)
	m.each(enter, func(j int, x float64) {
		for i := range m.alpha {
			m.alpha[i] += m.inv[i*m.size+j] * x
		}
		m.Steps += int64(m.size)
	})
	leave, least := -1, math.Inf(1)
	for i, a := range m.alpha {
		if a <= 1e-9 {
			continue
		}
		t := max(0, m.Amount[i]) / a
		if t < least-1e-12 || t <= least+1e-12 && leave >= 0 && a > m.alpha[leave] {
			leave, least = i, t
		}
	}
	if leave < 0 {
		return false
	}
	d := m.price(enter)
	m.each(enter, func(i int, x float64) { d -= m.Dual[i] * x })
	p := m.alpha[leave]
	pivotRow := m.inv[leave*m.size : (leave+1)*m.size]
	for j := range pivotRow {
		pivotRow[j] /= p
		m.Dual[j] += d * pivotRow[j]
	}
	for i, a := range m.alpha {
		if i == leave || a == 0 {
			continue
		}
		m.Amount[i] -= least * a
		row := m.inv[i*m.size : (i+1)*m.size]
		for j, x := range pivotRow {
			row[j] -= a * x
		}
		m.Steps += int64(m.size)
	}
	m.mark(m.Basis[leave], false)
	m.mark(enter, true)
	m.Basis[leave], m.Amount[leave] = enter, least
	m.Pivots++
	m.sinceOK++
	return true
}

func (m *Program) mark(v int, in bool) {
	if v >= 0 {
		m.inBasis[v] = in
	} else {
		m.restIn[-1-v] = in
	}
}

// exact reports whether the amounts still satisfy the constraints as they should.
func (m *Program) exact() bool {
	left := slices.Clone(m.Need)
	for i, v := range m.Basis {
		m.each(v, func(j int, x float64) { left[j] -= x * m.Amount[i] })
	}
	for i, x := range left {
		if math.Abs(x) > 1e-6*(1+m.Need[i]) {
			return false
		}
	}
	return true
}

// invert makes the inverse of the basis anew, by Gauss-Jordan elimination with pivoting, and the amounts from it.
func (m *Program) invert() {
	n := m.size
	a := make([]float64, n*n)
	for i, v := range m.Basis {
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
			m.Steps += int64(2 * n)
		}
	}
	for i := range n {
		sum := 0.0
		for j, b := range m.Need {
			sum += m.inv[i*n+j] * b
		}
		m.Amount[i] = sum
	}
	m.sinceOK = 0
}
