package bound

import (
	"cmp"
	"math"
	"slices"
)

// knapsack finds what the pods that an instance can carry are worth at most, pods taken as divisible: a linear program
// with one constraint per resource and per shared limit, and a bound on every row. It is solved by the simplex method
// for bounded variables; its dual solution is the weights that a certificate needs.
type knapsack struct {
	s     *search
	steps int64

	width  int // constraints
	groups []int
	inv    []float64 // inverse of the basis, width*width
	basis  []int     // variables: rows of the instance, then slacks
	value  []float64 // of the basic variables
	where  []int8    // of each variable: at its lower bound, at its upper one, or basic
	dual   []float64
	alpha  []float64
	over   []excessOf

	search wholeSearch
}

type excessOf struct {
	group int
	much  float64
	most  float64
}

const (
	atLower int8 = iota
	atUpper
	basic
)

// share is an amount of pods of a row.
type share struct {
	row    int
	amount float64
}

// worth is an upper bound on what the instance carries by the weights, as the checker will count it.
func (k *knapsack) worth(m *instance, w, y []float64) float64 {
	sum := 0.0
	for r, x := range w {
		sum += x * max(0, m.room[r])
	}
	k.over = k.over[:0]
	for i, at := range m.rows {
		row := &k.s.rows[at]
		much := y[at]
		for r, x := range row.req {
			much -= w[r] * x
		}
		if much <= 0 {
			continue
		}
		if row.shared < 0 {
			sum += much * m.most[i]
			continue
		}
		k.over = append(k.over, excessOf{row.shared, much, m.most[i]})
	}
	k.steps += int64(len(m.rows) * (len(w) + 1))
	if len(k.over) == 0 {
		return sum
	}
	slices.SortFunc(k.over, func(a, b excessOf) int { return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(b.much, a.much)) })
	last, left := -1, 0.0
	for _, e := range k.over {
		if e.group != last {
			last, left = e.group, k.s.limitOn(m, e.group)
		}
		n := min(e.most, left)
		left -= n
		sum += n * e.much
	}
	return sum
}

// solve finds the worthiest filling of the instance at row values y, its worth by the weights, and the weights.
func (k *knapsack) solve(m *instance, y []float64) (worth float64, filling []share, w []float64) {
	k.begin(m)
	scale := 0.0
	for _, at := range m.rows {
		scale = max(scale, y[at])
	}
	eps := 1e-10 * max(scale, 1e-12)
	for range 40*k.width + 4*len(m.rows) {
		k.duals(m, y)
		enter := k.entering(m, y, eps)
		if enter < 0 {
			break
		}
		k.pivot(m, enter)
	}
	k.duals(m, y)
	d := len(m.room)
	w = make([]float64, d)
	for r := range w {
		w[r] = max(0, k.dual[r])
	}
	amount := func(v int) float64 {
		switch k.where[v] {
		case atUpper:
			return m.most[v]
		case basic:
			return max(0, k.value[slices.Index(k.basis, v)])
		}
		return 0
	}
	for i, at := range m.rows {
		if x := amount(i); x > 1e-9 {
			filling = append(filling, share{at, x})
		}
	}
	return k.worth(m, w, y), filling, w
}

func (k *knapsack) begin(m *instance) {
	d := len(m.room)
	k.groups = k.groups[:0]
	for _, at := range m.rows {
		if g := k.s.rows[at].shared; g >= 0 && !slices.Contains(k.groups, g) {
			k.groups = append(k.groups, g)
		}
	}
	k.width = d + len(k.groups)
	n := len(m.rows) + k.width
	k.inv = resize(k.inv, k.width*k.width)
	k.value, k.dual, k.alpha = resize(k.value, k.width), resize(k.dual, k.width), resize(k.alpha, k.width)
	k.basis, k.where = k.basis[:0], slices.Grow(k.where[:0], n)[:n]
	clear(k.where)
	for i := range k.width {
		k.inv[i*k.width+i] = 1
		v := len(m.rows) + i
		k.basis = append(k.basis, v)
		k.where[v] = basic
		if i < d {
			k.value[i] = max(0, m.room[i])
		} else {
			k.value[i] = k.s.limitOn(m, k.groups[i-d])
		}
	}
}

func resize(x []float64, n int) []float64 {
	x = slices.Grow(x[:0], n)[:n]
	clear(x)
	return x
}

// duals prices the constraints: the value of what the basis holds, taken through its inverse.
func (k *knapsack) duals(m *instance, y []float64) {
	clear(k.dual)
	for i, v := range k.basis {
		if v >= len(m.rows) {
			continue
		}
		c := y[m.rows[v]]
		for j := range k.dual {
			k.dual[j] += c * k.inv[i*k.width+j]
		}
	}
}

// entering is the variable whose move to its other bound promises most; -1 if none promises anything.
func (k *knapsack) entering(m *instance, y []float64, eps float64) int {
	best, most := -1, 0.0
	d := len(m.room)
	for v, at := range m.rows {
		if k.where[v] == basic {
			continue
		}
		row := &k.s.rows[at]
		gain := y[at]
		for r, x := range row.req {
			gain -= k.dual[r] * x
		}
		if row.shared >= 0 {
			gain -= k.dual[d+slices.Index(k.groups, row.shared)]
		}
		if k.where[v] == atUpper {
			gain = -gain
		}
		if gain > eps && gain*m.most[v] > most {
			best, most = v, gain*m.most[v]
		}
	}
	k.steps += int64(len(m.rows) * (d + 1))
	for i := range k.width {
		if v := len(m.rows) + i; k.where[v] != basic && -k.dual[i] > eps {
			// Rare: a price below zero is put right before anything else.
			return v
		}
	}
	return best
}

func (k *knapsack) pivot(m *instance, enter int) {
	d, n := len(m.room), len(m.rows)
	clear(k.alpha)
	addColumn := func(j int, x float64) {
		for i := range k.alpha {
			k.alpha[i] += k.inv[i*k.width+j] * x
		}
	}
	own := math.Inf(1)
	if enter >= n {
		addColumn(enter-n, 1)
	} else {
		row := &k.s.rows[m.rows[enter]]
		for r, x := range row.req {
			if x > 0 {
				addColumn(r, x)
			}
		}
		if row.shared >= 0 {
			addColumn(d+slices.Index(k.groups, row.shared), 1)
		}
		own = m.most[enter]
	}
	down := k.where[enter] == atUpper
	step, leave, leaveTo := own, -1, atLower
	for i, a := range k.alpha {
		if down {
			a = -a
		}
		switch {
		case a > 1e-11: // falls to zero
			if t := k.value[i] / a; t < step {
				step, leave, leaveTo = max(0, t), i, atLower
			}
		case a < -1e-11 && k.basis[i] < n: // rises to its bound
			if t := (m.most[k.basis[i]] - k.value[i]) / -a; t < step {
				step, leave, leaveTo = max(0, t), i, atUpper
			}
		}
	}
	if math.IsInf(step, 1) {
		return
	}
	for i, a := range k.alpha {
		if down {
			a = -a
		}
		k.value[i] -= step * a
	}
	if leave < 0 {
		k.where[enter] = atUpper - k.where[enter]
		return
	}
	k.where[k.basis[leave]] = leaveTo
	start := 0.0
	if down {
		start, step = own, -step
	}
	k.basis[leave], k.where[enter], k.value[leave] = enter, basic, start+step
	p := k.alpha[leave]
	for j := range k.width {
		k.inv[leave*k.width+j] /= p
	}
	for i, a := range k.alpha {
		if i == leave || a == 0 {
			continue
		}
		for j := range k.width {
			k.inv[i*k.width+j] -= a * k.inv[leave*k.width+j]
		}
	}
	k.steps += int64(k.width * k.width)
}
