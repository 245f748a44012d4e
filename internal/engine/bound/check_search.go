package bound

import (
	"math"
	"math/bits"
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/res"
)

const (
	// maxSearch is how many ways to fill instances the checker looks at in all before it gives up.
	maxSearch = 16_000_000
	// oneSearch is the same for a single instance.
	oneSearch = 4_000_000
	// maxRoom is for how many resources it can tell ways apart.
	maxRoom = 8
)

// exhausted goes through the ways to fill the instance and reports whether none is worth more than limit. It adds classes
// one after the other. Of ways that leave the same room it needs only the worthiest, and none that can't exceed the limit
// any more, by the weights that come nearest, whatever is added.
func (k *checker) exhausted(m *carrier, limit wide) bool {
	if len(k.weights) == 0 || k.searches <= 0 || k.schema.Len() > maxRoom {
		return false
	}
	best := -1
	var least wide
	for j := range k.weights {
		if w := k.worth(&k.weights[j], m, widest); best < 0 || w.less(least) {
			best, least = j, w
		}
	}
	f := &fillings{k: k, w: &k.weights[best], limit: limit, left: min(oneSearch, k.searches)}
	f.list(m)
	before := f.left
	ok := f.search(m)
	k.searches -= before - f.left
	return ok
}

// fillings are the ways to fill an instance with the classes looked at so far.
type fillings struct {
	k     *checker
	w     *priced
	limit wide
	order []filler
	// beyond holds what all from a position on is worth beyond the room that it takes, and tails how little it makes of room.
	beyond []wide
	tails  []tail
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

// tail is what the fillers from a position on make of room at most: by the weights, cut down to the best of them, and by each
// resource alone.
type tail struct {
	cut  priced
	each []uint64 // in the unit of weights; the largest number where a filler does not take the resource
}

// remains is what a filling leaves: room, and pods of the group that is being looked at.
type remains struct {
	room  [maxRoom]int64
	group int64
}

// list finds what fits the instance, groups first. Classes of one kind count as one, unless they share a limit per host
// with others. They don't need to share it when the instance can be full of pods of their kind without it.
func (f *fillings) list(m *carrier) {
	at := map[[2]int]int{}
	for class := range f.k.classes {
		if f.k.sharedGroup(class) < 0 {
			f.add(m, class, -1, at)
		}
	}
	for class, v := range f.k.classes {
		group := f.k.sharedGroup(class)
		if i, ok := at[[2]int{v.kind, -1}]; group >= 0 && !(ok && f.order[i].most == v.fits(m.room)) {
			f.add(m, class, group, at)
		}
	}
	slices.SortStableFunc(f.order, func(a, b filler) int {
		if a.group != b.group {
			return b.group - a.group
		}
		return b.cost.compare(a.cost) // the largest first
	})
	f.beyond = make([]wide, len(f.order)+1)
	for i := len(f.order) - 1; i >= 0; i-- {
		x := &f.order[i]
		if x.group < 0 {
			f.beyond[i] = f.beyond[i+1].add(f.excess(x).times(uint64(x.most)))
			continue
		}
		end := i
		for end < len(f.order) && f.order[end].group == x.group {
			end++
		}
		members := slices.Clone(f.order[i:end])
		slices.SortStableFunc(members, func(a, b filler) int { return f.excess(&b).compare(f.excess(&a)) })
		sum, left := f.beyond[end], f.k.groupMost(m, x.group)
		for j := range members {
			n := min(left, members[j].most)
			sum = sum.add(f.excess(&members[j]).times(uint64(n)))
			left -= n
		}
		f.beyond[i] = sum
	}
	f.listTails()
}

// add makes a class part of the filler of its kind and group.
func (f *fillings) add(m *carrier, class, group int, at map[[2]int]int) {
	v, n := f.k.classes[class], int64(0)
	if m.allowed[class] && v.value > 0 {
		n = f.k.most(m, class)
	}
	if n == 0 {
		return
	}
	key := [2]int{v.kind, group}
	i, ok := at[key]
	if !ok {
		i = len(f.order)
		at[key] = i
		f.order = append(f.order, filler{req: v.req, value: v.value, group: group, cost: f.k.cost(f.w, v.req)})
	}
	f.order[i].most = min(f.order[i].most+n, v.fits(m.room))
}

// listTails finds how much of the weights the fillers from each position on are worth: in 2^20ths, rounded up.
func (f *fillings) listTails() {
	dims := f.k.schema.Len()
	f.tails = make([]tail, len(f.order))
	part, each := uint64(0), make([]uint64, dims)
	for i := len(f.order) - 1; i >= 0; i-- {
		x := &f.order[i]
		for part < 1<<20 && x.cost.times(part).less((wide{lo: x.value}).shift(fine).shift(20)) {
			part = min(1<<20, part+1<<10)
		}
		cut := make([]uint64, dims)
		for r, w := range f.w.by {
			p := product(w, part)
			cut[r] = p.hi<<44 | p.lo>>20
			if p.lo&(1<<20-1) != 0 {
				cut[r]++
			}
			each[r] = max(each[r], perUnit(x.value, x.req[r], unitBits(f.k.schema.Name(r))))
		}
		f.tails[i] = tail{priced{by: cut}, slices.Clone(each)}
	}
}

// perUnit is value*2^bits/amount, rounded up; the largest number if there is no amount or it does not fit.
func perUnit(value uint64, amount int64, bitsOfUnit int) uint64 {
	p := (wide{lo: value}).shift(bitsOfUnit)
	if amount <= 0 || p.hi >= uint64(amount) {
		return math.MaxUint64
	}
	q, rest := bits.Div64(p.hi, p.lo, uint64(amount))
	if rest > 0 && q < math.MaxUint64 {
		q++
	}
	return q
}

// atMost is what a filling of the worth may come to with the fillers from i on in the room that it leaves.
func (f *fillings) atMost(worth wide, room *[maxRoom]int64, dims, i int) wide {
	if i == len(f.order) {
		return worth
	}
	t := &f.tails[i]
	more := f.k.cost(&t.cut, room[:dims]).add(f.beyond[i])
	for r := range dims {
		if t.each[r] == math.MaxUint64 {
			continue
		}
		if alone := product(t.each[r], uint64(room[r])).shift(fine - unitBits(f.k.schema.Name(r))); alone.less(more) {
			more = alone
		}
	}
	return worth.add(more)
}

// excess is what a pod is worth beyond the room that it takes.
func (f *fillings) excess(x *filler) wide { return (wide{lo: x.value}).shift(fine).minus(x.cost) }

// search reports whether no filling exceeds the limit; also false when it had to give up.
func (f *fillings) search(m *carrier) bool {
	var all remains
	for r := range m.room {
		all.room[r] = max(0, m.room[r])
	}
	now := map[remains]wide{all: {}}
	for i := range f.order {
		x := &f.order[i]
		first := i == 0 || f.order[i-1].group != x.group
		next := make(map[remains]wide, len(now))
		for left, worth := range now {
			if first {
				left.group = 0
				if x.group >= 0 {
					left.group = f.k.groupMost(m, x.group)
				}
			}
			if !f.extend(next, x, i, left, worth, len(m.room)) {
				return false
			}
		}
		now = next
	}
	return true
}

// extend adds the filling with none, one, two and so on of x to next. It reports false when one exceeds the limit or the
// search has become too long.
func (f *fillings) extend(next map[remains]wide, x *filler, i int, left remains, worth wide, dims int) bool {
	each := (wide{lo: x.value}).shift(fine)
	for n := int64(0); ; n++ {
		if f.left--; f.left < 0 || f.limit.less(worth) {
			return false
		}
		if f.limit.less(f.atMost(worth, &left.room, dims, i+1)) {
			if known, ok := next[left]; !ok || known.less(worth) {
				next[left] = worth
			}
		}
		if n == x.most || x.group >= 0 && left.group == 0 {
			return true
		}
		if !f.limit.less(f.atMost(worth, &left.room, dims, i)) {
			return true // with more of x, too
		}
		for r := range dims {
			if left.room[r] -= x.req[r]; left.room[r] < 0 {
				return true
			}
		}
		if x.group >= 0 {
			left.group--
		}
		worth = worth.add(each)
	}
}
