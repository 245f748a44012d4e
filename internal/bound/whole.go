package bound

import (
	"cmp"
	"slices"
)

// wholeSteps is how many steps a search for the worthiest filling with whole pods may take for one machine. Where it is
// not enough, which is so for large machines with many small pods, where little is lost by it, pods stay divisible.
const wholeSteps = 4000

// wholeSearch looks for the filling of a machine with whole pods that is worth most, if it is worth more than a limit.
type wholeSearch struct {
	k       *knapsack
	m       *machine
	y, w    []float64
	room    []float64
	limits  []float64
	order   []int     // of m.rows, those worth most for their room first
	beyond  []float64 // what all from a position on are worth beyond the room that they take
	taken   []float64
	best    float64
	filling []share
	left    int
}

// whole finds the worthiest filling with whole pods that is worth more than limit, if there is one; w are weights that
// show what the machine is worth with pods cut at will. It reports false when it did not come to the end.
func (k *knapsack) whole(m *machine, y, w []float64, limit float64) (worth float64, filling []share, ok bool) {
	f := &wholeSearch{k: k, m: m, y: y, w: w, room: slices.Clone(m.room), taken: make([]float64, len(m.rows)), best: limit, left: wholeSteps}
	for r := range f.room {
		f.room[r] = max(0, f.room[r])
	}
	for i := range k.s.shared {
		f.limits = append(f.limits, k.s.limitOn(m, i))
	}
	ratio, over := make([]float64, len(m.rows)), make([]float64, len(m.rows))
	for i, at := range m.rows {
		if y[at] <= 0 {
			continue
		}
		cost := 0.0
		for r, x := range k.s.rows[at].req {
			cost += w[r] * x
		}
		f.order = append(f.order, i)
		ratio[i], over[i] = y[at]/(cost+1e-12), max(0, y[at]-cost)
	}
	slices.SortStableFunc(f.order, func(a, b int) int { return cmp.Compare(ratio[b], ratio[a]) })
	f.beyond = make([]float64, len(f.order)+1)
	for p := len(f.order) - 1; p >= 0; p-- {
		f.beyond[p] = f.beyond[p+1] + over[f.order[p]]*m.most[f.order[p]]
	}
	f.search(0, 0)
	k.steps += int64((wholeSteps - max(0, f.left)) * (len(m.room) + 4))
	return f.best, f.filling, f.left >= 0
}

func (f *wholeSearch) search(p int, have float64) {
	if have > f.best*(1+1e-9) {
		f.best = have
		f.filling = f.filling[:0]
		for i, n := range f.taken {
			if n > 0 {
				f.filling = append(f.filling, share{f.m.rows[i], n})
			}
		}
	}
	bound := have + f.beyond[p]
	for r, x := range f.w {
		bound += x * f.room[r]
	}
	if f.left--; f.left < 0 || p == len(f.order) || bound <= f.best*(1+1e-9) {
		return
	}
	i := f.order[p]
	at := f.m.rows[i]
	row := &f.k.s.rows[at]
	n := f.m.most[i]
	if row.shared >= 0 {
		n = min(n, f.limits[row.shared])
	}
	for r, x := range row.req {
		if x > 0 {
			n = min(n, float64(int64(f.room[r]/x+1e-9)))
		}
	}
	for ; n >= 0 && f.left >= 0; n-- {
		f.take(i, row, n)
		f.search(p+1, have+n*f.y[at])
		f.take(i, row, -n)
	}
}

func (f *wholeSearch) take(i int, row *row, n float64) {
	f.taken[i] += n
	if row.shared >= 0 {
		f.limits[row.shared] -= n
	}
	for r, x := range row.req {
		f.room[r] -= x * n
	}
}
