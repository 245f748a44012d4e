package bound

import (
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/res"
)

const (
	// maxSearch is how many ways to fill instances the checker looks at in all before it gives up.
	maxSearch = 8_000_000
	// oneSearch is the same for a single instance.
	oneSearch = 2_000_000
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
	// beyond holds what all from a position on is worth beyond the room that it takes.
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

// remains is what a filling leaves: room, and pods of the group that is being looked at.
type remains struct {
	room  [maxRoom]int64
	group int64
}

// list finds what fits the instance, groups first. Classes of one kind count as one, unless they share a limit per host
// with others.
func (f *fillings) list(m *carrier) {
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
		sum, left := f.beyond[end], k.groupMost(m, x.group)
		for j := range members {
			n := min(left, members[j].most)
			sum = sum.add(f.excess(&members[j]).times(uint64(n)))
			left -= n
		}
		f.beyond[i] = sum
	}
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
		ahead := worth.add(f.k.cost(f.w, left.room[:dims]))
		if f.limit.less(ahead.add(f.beyond[i+1])) {
			if known, ok := next[left]; !ok || known.less(worth) {
				next[left] = worth
			}
		}
		if n == x.most || x.group >= 0 && left.group == 0 {
			return true
		}
		if !f.limit.less(ahead.add(f.excess(x).times(uint64(x.most - n))).add(f.beyond[i+1])) {
			return true
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
