package cuttingstock

import (
	"math"
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/lp"
)

// knapsack fills new nodes of a kind with what is worth most. It is a heuristic: the exact answer is hard to find and would
// hardly be better.
type knapsack struct {
	m     *Problem
	rows  []int // that may be on the kind and are worth something
	n     []float64
	room  []float64
	per   []float64 // 1/room
	caps  []int
	found []float64
	live  []int // scratch space of fill
	// req, demand and groups hold, by row, what a pod asks for of each resource, how many whole pods there are, and the
	// group, side by side.
	req    []float64
	demand []float64
	groups []int
	// bySize holds, by size of row, the position in rows plus one.
	bySize []int
	work   int64
}

func newKnapsack(m *Problem) *knapsack {
	width, rows := len(m.Bins[0].Net), len(m.Rows)
	b := &knapsack{m: m, rows: make([]int, 0, rows), live: make([]int, 0, rows), n: make([]float64, rows), found: make([]float64, rows),
		room: make([]float64, width), per: make([]float64, width), caps: make([]int, len(m.Caps)), bySize: make([]int, m.Sizes)}
	for _, r := range m.Rows {
		b.req = append(b.req, r.Req...)
		b.demand = append(b.demand, math.Floor(r.Demand))
		b.groups = append(b.groups, r.Group)
	}
	return b
}

// glance is about what the kind can carry, by worth of rows.
func (b *knapsack) glance(at int, worth []float64) float64 {
	k := &b.m.Bins[at]
	b.choose(k, worth)
	b.empty(k)
	return b.fill(worth, 1, -1)
}

// best is the most valuable filling of the kind that is found, by worth of rows.
func (b *knapsack) best(at int, worth []float64) (lp.Column, float64) {
	k := &b.m.Bins[at]
	b.choose(k, worth)
	best := 0.0
	for _, coarse := range []float64{1, 2, 6} {
		b.empty(k)
		if v := b.fill(worth, coarse, -1); v > best {
			best = v
			copy(b.found, b.n)
		}
	}
	return b.pattern(at), best
}

// with is the most valuable filling of the kind that is found with a pod of the row on it.
func (b *knapsack) with(at, row int, worth []float64) (lp.Column, float64) {
	k := &b.m.Bins[at]
	b.choose(k, worth)
	if !slices.Contains(b.rows, row) {
		b.rows = append(b.rows, row)
	}
	best := 0.0
	for _, coarse := range []float64{1, 6} {
		b.empty(k)
		v := b.add(row, 1, worth)
		if v += b.fill(worth, coarse, -1); v > best {
			best = v
			copy(b.found, b.n)
		}
	}
	return b.pattern(at), best
}

// choose lists the rows that may be on the kind: of those of one size the one that is worth most.
func (b *knapsack) choose(k *Bin, worth []float64) {
	b.rows = b.rows[:0]
	clear(b.bySize)
	for i, r := range b.m.Rows {
		if worth[i] <= 0 || k.Access&(1<<r.Access) == 0 {
			continue
		}
		if at := b.bySize[r.Size]; at == 0 {
			b.rows = append(b.rows, i)
			b.bySize[r.Size] = len(b.rows)
		} else if worth[i] > worth[b.rows[at-1]] {
			b.rows[at-1] = i
		}
	}
	b.work += int64(len(b.m.Rows) / 4)
}

func (b *knapsack) empty(k *Bin) {
	copy(b.room, k.Net)
	copy(b.caps, b.m.Caps)
	for i := range b.n {
		b.n[i] = 0
	}
}

// fill adds, again and again, what is worth most for the share that it takes of what is left of each resource, so that
// no resource runs out long before the others. It takes a part of what fits at a time, the smaller the coarse. The row
// without is left out.
func (b *knapsack) fill(worth []float64, coarse float64, without int) float64 {
	total := 0.0
	live := b.live[:0]
	for _, i := range b.rows {
		if i != without {
			live = append(live, i)
		}
	}
	for {
		for r, x := range b.room {
			b.per[r] = 1 / max(x, 1e-9)
		}
		best, ratio, fit := -1, 0.0, 0.0
		b.work += int64(len(b.rows))
		fits := live[:0]
		for _, i := range live {
			size, most := b.shareOf(i)
			if most > 1 {
				continue // room only gets less
			}
			square := float64(worth[i] * worth[i])
			if square > ratio*size {
				n := min(math.Floor(1/max(most, 1e-9)+1e-9), b.demand[i]-b.n[i])
				if g := b.groups[i]; g >= 0 {
					n = min(n, float64(b.caps[g]))
				}
				if n < 1 {
					continue
				}
				best, ratio, fit = i, square/size, n
			}
			fits = append(fits, i)
		}
		live = fits
		if best < 0 {
			return total
		}
		total += b.add(best, max(1, math.Floor(fit/coarse)), worth)
	}
}

// shareOf is how large a pod of the row is for the room that is left: the squares of its shares of each resource, summed,
// and the largest share.
func (b *knapsack) shareOf(row int) (size, most float64) {
	per := b.per
	req := b.req[row*len(per):][:len(per)]
	for j, x := range req {
		share := float64(x * per[j])
		size += float64(share * share)
		if share > most {
			most = share
		}
	}
	return size, most
}

func (b *knapsack) add(i int, n float64, worth []float64) float64 {
	r := b.m.Rows[i]
	for j, x := range r.Req {
		b.room[j] -= float64(x * n)
	}
	if r.Group >= 0 {
		b.caps[r.Group] -= int(n)
	}
	b.n[i] += n
	return float64(worth[i] * n)
}

// pattern is the best filling found.
func (b *knapsack) pattern(at int) lp.Column {
	c := lp.Column{Of: at, Price: b.m.Bins[at].Price}
	for _, i := range b.rows {
		if n := b.found[i]; n > 0 {
			c.Parts = append(c.Parts, lp.Share{Row: i, Amount: n})
		}
	}
	return c
}
