package lp

import (
	"math"
	"slices"
)

// Items are what may be filled into a room, divisible at will.
type Items struct {
	Room   []float64 // by resource
	Limits []float64 // by group: how much of its items together
	// By item: what one takes of each resource, the group whose limit it counts for (-1: none), how much of it there is,
	// and what one is worth.
	Req   [][]float64
	Group []int
	Most  []float64
	Value []float64
}

// Knapsack finds the filling that is worth most: a linear program with one constraint for each resource and group, and a
// bound on every item, solved by the simplex method for bounded variables.
//
// Concurrency: not safe; its memory is used again by the next Solve.
type Knapsack struct {
	// Dual is what a unit of each resource, and of each group's limit, is worth.
	Dual  []float64
	Steps int64 // multiplications, about

	width int       // constraints
	inv   []float64 // inverse of the basis, width*width
	basis []int     // variables: items, then slacks
	value []float64 // of the basic variables
	where []int8    // of each variable: at its lower bound, at its upper one, or basic
	alpha []float64
}

const (
	atLower int8 = iota
	atUpper
	basic
)

// Solve finds the worthiest filling; Amount tells it, and Dual what proves it.
func (k *Knapsack) Solve(p *Items) {
	k.begin(p)
	scale := 0.0
	for _, v := range p.Value {
		scale = max(scale, v)
	}
	eps := 1e-10 * max(scale, 1e-12)
	for range 40*k.width + 4*len(p.Value) {
		k.reprice(p)
		enter := k.entering(p, eps)
		if enter < 0 {
			break
		}
		k.pivot(p, enter)
	}
	k.reprice(p)
}

// Amount is how much of the item the filling has.
func (k *Knapsack) Amount(p *Items, item int) float64 {
	switch k.where[item] {
	case atUpper:
		return p.Most[item]
	case basic:
		return max(0, k.value[slices.Index(k.basis, item)])
	}
	return 0
}

func (k *Knapsack) begin(p *Items) {
	d, items := len(p.Room), len(p.Value)
	k.width = d + len(p.Limits)
	n := items + k.width
	k.inv = resize(k.inv, k.width*k.width)
	k.value, k.Dual, k.alpha = resize(k.value, k.width), resize(k.Dual, k.width), resize(k.alpha, k.width)
	k.basis, k.where = k.basis[:0], slices.Grow(k.where[:0], n)[:n]
	clear(k.where)
	for i := range k.width {
		k.inv[i*k.width+i] = 1
		v := items + i
		k.basis = append(k.basis, v)
		k.where[v] = basic
		if i < d {
			k.value[i] = max(0, p.Room[i])
		} else {
			k.value[i] = p.Limits[i-d]
		}
	}
}

func resize(x []float64, n int) []float64 {
	x = slices.Grow(x[:0], n)[:n]
	clear(x)
	return x
}

// reprice prices the constraints: the value of what the basis holds, taken through its inverse.
func (k *Knapsack) reprice(p *Items) {
	clear(k.Dual)
	for i, v := range k.basis {
		if v >= len(p.Value) {
			continue
		}
		c := p.Value[v]
		for j := range k.Dual {
			k.Dual[j] += c * k.inv[i*k.width+j]
		}
	}
}

// entering is the variable whose move to its other bound promises most; -1 if none promises anything.
func (k *Knapsack) entering(p *Items, eps float64) int {
	best, most := -1, 0.0
	d := len(p.Room)
	for v, gain := range p.Value {
		if k.where[v] == basic {
			continue
		}
		for r, x := range p.Req[v] {
			gain -= k.Dual[r] * x
		}
		if g := p.Group[v]; g >= 0 {
			gain -= k.Dual[d+g]
		}
		if k.where[v] == atUpper {
			gain = -gain
		}
		if gain > eps && gain*p.Most[v] > most {
			best, most = v, gain*p.Most[v]
		}
	}
	k.Steps += int64(len(p.Value) * (d + 1))
	for i := range k.width {
		if v := len(p.Value) + i; k.where[v] != basic && -k.Dual[i] > eps {
			// Rare: a price below zero is put right before anything else.
			return v
		}
	}
	return best
}

func (k *Knapsack) pivot(p *Items, enter int) {
	d, n := len(p.Room), len(p.Value)
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
		for r, x := range p.Req[enter] {
			if x > 0 {
				addColumn(r, x)
			}
		}
		if g := p.Group[enter]; g >= 0 {
			addColumn(d+g, 1)
		}
		own = p.Most[enter]
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
			if t := (p.Most[k.basis[i]] - k.value[i]) / -a; t < step {
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
	by := k.alpha[leave]
	for j := range k.width {
		k.inv[leave*k.width+j] /= by
	}
	for i, a := range k.alpha {
		if i == leave || a == 0 {
			continue
		}
		for j := range k.width {
			k.inv[i*k.width+j] -= a * k.inv[leave*k.width+j]
		}
	}
	k.Steps += int64(k.width * k.width)
}
