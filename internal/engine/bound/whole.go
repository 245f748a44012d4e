package bound

import (
	"cmp"
	"math"
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/lp"
)

// maxDims is how many resources the search tells apart; one more counts the pods of a limit per host.
const maxDims = 6

// wholeSearch looks for the filling of an instance with whole pods that is worth most. It goes through the rows one by one.
// Of all fillings with the rows so far that use just as much of everything it keeps the worthiest, and of those the ones
// that may still come to more than the best, by the weights; if there are too many, those that promise most.
type wholeSearch struct {
	dims      int
	room, per [maxDims + 1]float64 // in steps, and what a step is worth by the weights
	items     []wholeItem
	best      float64
	bestAt    int32
	dropped   float64 // what the most promising of those not kept might have come to
	states    []partFilling
	table     []int32 // of those with the rows so far, one more than the place in states; 0: none
	from      int
	next      []int32
	kept      []partFilling
	tried     int64
}

// wholeItem is a row as far as the search needs to know it.
type wholeItem struct {
	row    int
	group  int
	use    [maxDims + 1]float64
	y      float64
	over   float64 // worth beyond the room that it takes
	size   float64 // worth of that room
	most   float64
	limit  float64 // of all pods of its group
	beyond float64 // what this item and all behind it are worth beyond the room that they take
	// Of this item and all behind it: the most that any is worth of the room that it takes, at most 1, and for a step of
	// each resource; infinite for a resource that one of them does not take.
	dense float64
	each  [maxDims]float64
}

type partFilling struct {
	used   [maxDims + 1]float64
	worth  float64
	upper  float64
	parent int32
	row    int32
	n      float64
}

// whole finds the worthiest filling with whole pods, if it is worth more than limit; w are weights that show what the
// instance is worth with pods cut at will. What it returns as worth no filling exceeds; it is the worth of the filling, or
// limit, when closed is set.
func (k *knapsack) whole(m *instance, y, w []float64, limit float64, width int) (worth float64, filling []lp.Share, closed bool) {
	if len(m.room) > maxDims {
		return math.Inf(1), nil, false
	}
	f := &k.search
	f.list(k.s, m, y, w)
	f.best, f.bestAt, f.dropped, f.tried = limit, -1, 0, 0
	f.states = append(f.states[:0], partFilling{parent: -1, row: -1})
	f.states[0].upper = f.upper(&f.states[0], 0)
	if f.table == nil {
		f.table = make([]int32, 1<<12)
	}
	now, most := []int32{0}, int64(max(leastTries, triesPerWidth*width))
	for i := range f.items {
		if now = f.step(i, now, width); f.tried > most {
			f.dropped = math.Inf(1)
		}
		if len(now) == 0 || f.tried > most {
			break
		}
	}
	k.tried += 60 * f.tried
	for at := f.bestAt; at >= 0; at = f.states[at].parent {
		if v := &f.states[at]; v.n > 0 {
			filling = append(filling, lp.Share{Row: int(v.row), Amount: v.n})
		}
	}
	slices.SortFunc(filling, func(a, b lp.Share) int { return cmp.Compare(a.Row, b.Row) })
	return max(f.best, f.dropped), filling, f.dropped <= f.best
}

// list finds what the instance carries: rows that share a limit per host first, then the large before the small.
func (f *wholeSearch) list(s *search, m *instance, y, w []float64) {
	d := len(m.room)
	f.dims = d
	f.room, f.per = [maxDims + 1]float64{}, [maxDims + 1]float64{}
	for r := range d {
		step := float64(s.steps[r])
		f.room[r] = math.Floor(max(0, m.room[r])*s.scale[r]/step + 1e-6)
		f.per[r] = w[r] * step / s.scale[r]
	}
	f.items = f.items[:0]
	for i, at := range m.rows {
		row := &s.rows[at]
		if y[at] <= 0 {
			continue
		}
		x := wholeItem{row: at, group: row.shared, y: y[at], most: m.most[i], limit: math.Inf(1)}
		for r := range d {
			x.use[r] = float64(row.exact[r] / s.steps[r])
			x.size += f.per[r] * x.use[r]
		}
		if x.group >= 0 {
			x.use[maxDims], x.limit = 1, s.limitOn(m, x.group)
			x.most = min(x.most, x.limit)
		}
		x.over = max(0, x.y-x.size)
		f.items = append(f.items, x)
	}
	slices.SortStableFunc(f.items, func(a, b wholeItem) int {
		return cmp.Or(cmp.Compare(b.group, a.group), cmp.Compare(b.size, a.size))
	})
	dense, each := 0.0, [maxDims]float64{}
	for i := len(f.items) - 1; i >= 0; i-- {
		x := &f.items[i]
		dense = max(dense, min(1, x.y/x.size))
		for r := range d {
			each[r] = max(each[r], x.y/x.use[r])
		}
		x.dense, x.each = dense, each
	}
	beyond := 0.0
	var over []float64 // of the group's rows from here on, the largest first
	behind := 0.0      // of all behind the group
	for i := len(f.items) - 1; i >= 0; i-- {
		x := &f.items[i]
		if x.group < 0 {
			beyond += x.over * x.most
			x.beyond = beyond
			continue
		}
		if i+1 == len(f.items) || f.items[i+1].group != x.group {
			over, behind = over[:0], beyond
		}
		for range int(x.most) {
			at, _ := slices.BinarySearchFunc(over, x.over, func(a, b float64) int { return cmp.Compare(b, a) })
			over = slices.Insert(over, at, x.over)
		}
		over = over[:min(len(over), int(x.limit))]
		beyond = behind
		for _, o := range over {
			beyond += o
		}
		x.beyond = beyond
	}
}

// upper is what the filling may come to with the items from i on. They are worth no more of the room that is left than the
// best of them, by the weights or by any single resource.
func (f *wholeSearch) upper(v *partFilling, i int) float64 {
	if i == len(f.items) {
		return v.worth
	}
	x := &f.items[i]
	more := 0.0
	for r := range f.dims {
		more += f.per[r] * (f.room[r] - v.used[r])
	}
	more = more*x.dense + x.beyond
	for r := range f.dims {
		if each := x.each[r]; each*(f.room[r]-v.used[r]) < more {
			more = each * (f.room[r] - v.used[r])
		}
	}
	return v.worth + more
}

// step adds pods of item i to the fillings.
func (f *wholeSearch) step(i int, now []int32, width int) []int32 {
	x := &f.items[i]
	f.from = len(f.states)
	clear(f.table)
	f.next = f.next[:0]
	for _, at := range now {
		v := f.states[at]
		if i > 0 && f.items[i-1].group != x.group {
			v.used[maxDims] = 0
		}
		v.upper = f.upper(&v, i+1)
		f.keep(v)
		v.parent, v.row = at, int32(x.row)
		for n := 1.0; n <= min(x.most, x.limit-v.used[maxDims]); n++ {
			fits := true
			for r := range maxDims {
				v.used[r] += x.use[r]
				fits = fits && v.used[r] <= f.room[r]
			}
			if !fits {
				break
			}
			v.worth += x.y
			v.n = n
			v.upper = f.upper(&v, i+1)
			if f.upper(&v, i) <= f.best*(1+1e-9) {
				break // with more of this item, too
			}
			u := v
			u.used[maxDims] += n * x.use[maxDims]
			f.keep(u)
		}
	}
	if len(f.next) > width {
		slices.SortFunc(f.next, func(a, b int32) int {
			return cmp.Or(cmp.Compare(f.states[b].upper, f.states[a].upper), cmp.Compare(a, b))
		})
		f.dropped = max(f.dropped, f.states[f.next[width]].upper)
		f.next = f.next[:width]
		f.forget()
	}
	return slices.Clone(f.next)
}

// forget makes room by giving up the fillings of this step that are not kept.
func (f *wholeSearch) forget() {
	kept := f.kept[:0]
	for i, at := range f.next {
		kept = append(kept, f.states[at])
		f.next[i] = int32(f.from + i)
	}
	if int(f.bestAt) >= f.from {
		kept = append(kept, f.states[f.bestAt])
		f.bestAt = int32(f.from + len(kept) - 1)
	}
	f.states = append(f.states[:f.from], kept...)
	f.kept = kept
}

// keep lists a filling, unless one that uses as much is worth no less.
func (f *wholeSearch) keep(v partFilling) {
	f.tried++
	if v.upper <= f.best*(1+1e-9) {
		return
	}
	at, known := f.find(&v)
	if known < 0 {
		known = int32(len(f.states))
		f.states = append(f.states, v)
		f.next = append(f.next, known)
		f.table[at] = known + 1
		if 2*(len(f.states)-f.from) > len(f.table) {
			f.grow()
		}
	} else {
		if f.states[known].worth >= v.worth {
			return
		}
		f.states[known] = v
	}
	if v.worth > f.best*(1+1e-9) {
		f.best, f.bestAt = v.worth, known
	}
}

func (f *wholeSearch) find(v *partFilling) (at int, known int32) {
	h := uint64(len(f.items))
	for _, x := range v.used {
		h = (h ^ uint64(x)) * 0x9E3779B97F4A7C15
		h ^= h >> 29
	}
	mask := len(f.table) - 1
	for at = int(h) & mask; f.table[at] != 0; at = (at + 1) & mask {
		if o := f.table[at] - 1; f.states[o].used == v.used {
			return at, o
		}
	}
	return at, -1
}

func (f *wholeSearch) grow() {
	f.table = make([]int32, 4*len(f.table))
	for i := f.from; i < len(f.states); i++ {
		at, _ := f.find(&f.states[i])
		f.table[at] = int32(i) + 1
	}
}
