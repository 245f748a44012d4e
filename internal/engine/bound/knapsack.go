package bound

import (
	"cmp"
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/lp"
)

// knapsack finds what the pods that an instance can carry are worth at most: pods taken as divisible, by a linear program
// whose dual solution is the weights that a certificate needs, and whole ones by a search.
type knapsack struct {
	s     *search
	lp    lp.Knapsack
	tried int64

	items  lp.Items
	groups []int // of search.shared, in the order of items.Limits
	over   []excessOf

	search wholeSearch
}

type excessOf struct {
	group int
	much  float64
	most  float64
}

// steps is the work so far, in multiplications.
func (k *knapsack) steps() int64 { return k.tried + k.lp.Steps }

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
	k.tried += int64(len(m.rows) * (len(w) + 1))
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
func (k *knapsack) solve(m *instance, y []float64) (worth float64, filling []lp.Share, w []float64) {
	k.list(m, y)
	k.lp.Solve(&k.items)
	w = make([]float64, len(m.room))
	for r := range w {
		w[r] = max(0, k.lp.Dual[r])
	}
	for i, at := range m.rows {
		if x := k.lp.Amount(&k.items, i); x > 1e-9 {
			filling = append(filling, lp.Share{Row: at, Amount: x})
		}
	}
	return k.worth(m, w, y), filling, w
}

// list makes items of the rows that the instance carries.
func (k *knapsack) list(m *instance, y []float64) {
	p := &k.items
	p.Room, p.Most = m.room, m.most
	p.Limits, p.Req, p.Group, p.Value, k.groups = p.Limits[:0], p.Req[:0], p.Group[:0], p.Value[:0], k.groups[:0]
	for _, at := range m.rows {
		row := &k.s.rows[at]
		group := -1
		if row.shared >= 0 {
			if group = slices.Index(k.groups, row.shared); group < 0 {
				group = len(k.groups)
				k.groups = append(k.groups, row.shared)
				p.Limits = append(p.Limits, k.s.limitOn(m, row.shared))
			}
		}
		p.Req, p.Group, p.Value = append(p.Req, row.req), append(p.Group, group), append(p.Value, y[at])
	}
}
