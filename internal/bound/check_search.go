package bound

import (
	"slices"

	"github.com/kerf-sh/kerf/internal/res"
)

// maxSearch is how many ways to fill machines the checker looks at in all before it gives up.
const maxSearch = 5_000_000

// oneSearch is the same for a single machine.
const oneSearch = 200_000

// exhausted searches all ways to fill the machine and reports whether none is worth more than limit. A way is cut off as
// soon as the weights that come nearest show that whatever is added keeps it within the limit.
func (k *checker) exhausted(m *carrier, limit wide) bool {
	if len(k.weights) == 0 || k.searches <= 0 {
		return false
	}
	best := -1
	var least wide
	for j := range k.weights {
		if w := k.worth(&k.weights[j], m, widest); best < 0 || w.less(least) {
			best, least = j, w
		}
	}
	f := &filling{k: k, w: &k.weights[best], limit: limit, room: slices.Clone(m.room), left: min(oneSearch, k.searches),
		group: make([]int64, len(k.groups))}
	for r := range f.room {
		f.room[r] = max(0, f.room[r])
	}
	for i := range f.group {
		f.group[i] = k.groupMost(m, i)
	}
	f.list(m)
	before := f.left
	ok := f.search(0, wide{})
	k.searches -= before - f.left
	return ok
}

// filling is a search for the worthiest way to fill a machine.
type filling struct {
	k     *checker
	w     *priced
	limit wide
	room  res.Vector
	group []int64
	// order holds what fits, the worthiest for its room first; beyond holds what all from a position on is worth beyond
	// the room that it takes.
	order  []filler
	beyond []wide
	left   int
}

// filler is pods that are worth the same and ask for the same.
type filler struct {
	req   res.Vector
	value uint64
	most  int64
	group int // shared with other fillers; -1: none
	cost  wide
}

// list finds what fits the machine. Classes of one kind count as one, unless they share a limit per host with others.
func (f *filling) list(m *carrier) {
	k := f.k
	at := map[[2]int]int{}
	for class, v := range k.classes {
		n := int64(0)
		if m.allowed[class] && v.value > 0 {
			n = k.most(m, class)
		}
		if n == 0 {
			continue
		}
		key := [2]int{v.kind, k.sharedGroup(class)}
		i, ok := at[key]
		if !ok {
			i = len(f.order)
			at[key] = i
			f.order = append(f.order, filler{req: v.req, value: v.value, group: key[1], cost: k.cost(f.w, v.req)})
		}
		f.order[i].most = min(f.order[i].most+n, v.fits(m.room))
	}
	slices.SortStableFunc(f.order, func(a, b filler) int {
		return a.cost.times(b.value).compare(b.cost.times(a.value)) // value for cost, the highest first
	})
	f.beyond = make([]wide, len(f.order)+1)
	for i := len(f.order) - 1; i >= 0; i-- {
		x := &f.order[i]
		much := (wide{lo: x.value}).shift(fine).minus(x.cost)
		f.beyond[i] = f.beyond[i+1].add(much.times(uint64(x.most)))
	}
}

// search reports whether nothing that is added from position i on makes the filling, worth have so far, exceed the limit.
func (f *filling) search(i int, have wide) bool {
	f.left--
	if f.left < 0 || f.limit.less(have) {
		return false
	}
	if i == len(f.order) || !f.limit.less(have.add(f.k.cost(f.w, f.room)).add(f.beyond[i])) {
		return true
	}
	x := &f.order[i]
	n := x.most
	if x.group >= 0 {
		n = min(n, f.group[x.group])
	}
	for r, a := range x.req {
		if a > 0 {
			n = min(n, f.room[r]/a)
		}
	}
	each := (wide{lo: x.value}).shift(fine)
	ok := true
	for ; n >= 0 && ok; n-- {
		f.take(x, n)
		ok = f.search(i+1, have.add(each.times(uint64(n))))
		f.take(x, -n)
	}
	return ok
}

func (f *filling) take(x *filler, n int64) {
	if x.group >= 0 {
		f.group[x.group] -= n
	}
	for r, a := range x.req {
		f.room[r] -= a * n
	}
}
