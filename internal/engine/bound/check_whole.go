package bound

import (
	"bytes"
	"cmp"
	"errors"
	"math/bits"
	"slices"
)

const (
	// maxWays is how many ways to take some of the pods of a zone the checker tells apart.
	maxWays = 150_000
	// maxWhole is how many steps it makes with them, some nanoseconds each.
	maxWhole = 12_000_000
	// These keep sums within 63 bits: values and reach are in nano-USD, prices in micro-USD.
	maxWholeValue = 1 << 50
	maxWholePods  = 1 << 8
	maxWholeReach = 1 << 60
	maxWholePrice = 1 << 52
)

var (
	errTooLarge = errors.New("the pods are too many to go through all ways to serve them with whole instances")
	errTooLong  = errors.New("there are too many ways to serve the pods with whole instances")
)

// offer is an instance that is sold.
type offer struct {
	price int64 // micro-USD
	m     *carrier
}

// load is pods that need not be told apart: of a class, or of classes of a kind.
type load struct {
	n       int64
	classes []int // in which place they are which class, by place; -1: they can't be there
	fewest  []int64
	top     []int64
	// each and base say what a pod counts in a place besides its value: each*pods - base, which is never below zero.
	each, base []int64
}

// wholeInstances proves that all pods together cost some more than they are worth, because instances are launched whole: at
// least reach, or as much as the cheapest way costs that is cheaper than that.
//
// What a way costs more than the pods are worth is the sum, over its instances, of what each costs more than its pods, and
// of what the pods are worth more where they are than where they would be worth least. None of these is below zero, so
// that only instances matter that cost less than reach more than their pods.
func (k *checker) wholeInstances(reach int64) (int64, error) {
	if reach >= maxWholeReach {
		return 0, errTooLarge
	}
	places, loads, err := k.wholeLoads()
	if err != nil {
		return 0, err
	}
	w := &wholeCheck{k: k, reach: reach, left: maxWhole, loads: loads, places: len(places)}
	var used map[uint64]int64
	total := uint64(0)
	shift, bit := make([]int, len(loads)), 0
	for i := range loads {
		shift[i] = bit
		bit += bits.Len64(uint64(loads[i].n)) + 1
		total |= uint64(loads[i].n) << shift[i]
	}
	if bit > 64 {
		return 0, errTooLarge
	}
	w.shift = shift
	for i := range loads {
		w.guard |= 1 << (shift[i] + bits.Len64(uint64(loads[i].n)))
	}
	used = map[uint64]int64{0: 0}
	for place := range places {
		ways, err := w.place(place, k.offers[places[place]])
		if err != nil {
			return 0, err
		}
		if used, err = w.combine(used, ways, place, total); err != nil {
			return 0, err
		}
	}
	if best, ok := used[total]; ok {
		return min(reach, best), nil
	}
	return reach, nil
}

// wholeLoads lists the places that matter, one for each zone if there are values by zone, and the pods.
func (k *checker) wholeLoads() (places []string, loads []load, err error) {
	for _, c := range k.charges {
		if c.each > 0 && c.times > 0 {
			return nil, nil, errors.New("existing nodes or reservations serve some of the pods")
		}
	}
	for zone := range k.offers {
		places = append(places, zone)
	}
	slices.Sort(places)
	index := map[string]int{}
	put := func(key string, l load) {
		if at, ok := index[key]; ok && key != "" {
			o := &loads[at]
			o.n += l.n
			for i := range places {
				o.fewest[i], o.top[i], o.base[i] = o.fewest[i]+l.fewest[i], o.top[i]+l.top[i], o.base[i]+l.base[i]
			}
			return
		}
		index[key] = len(loads)
		loads = append(loads, l)
	}
	for class, v := range k.classes {
		if v.value >= maxWholeValue {
			return nil, nil, errTooLarge
		}
		if v.zone != "" || v.value == 0 && k.onNode[class] {
			continue
		}
		l := load{n: v.count, classes: make([]int, len(places)), fewest: make([]int64, len(places)), top: make([]int64, len(places)),
			each: make([]int64, len(places)), base: make([]int64, len(places))}
		for i := range places {
			l.classes[i], l.top[i] = class, v.count
		}
		key := ""
		if v.group < 0 {
			key = asText(v.kind)
		}
		put(key, l)
	}
	for _, sr := range k.spreadRows {
		l, key, err := k.spreadLoad(sr, places)
		if err != nil {
			return nil, nil, err
		}
		put(key, l)
	}
	pods := int64(0)
	for i := range loads {
		pods += loads[i].n
	}
	if pods > maxWholePods {
		return nil, nil, errTooLarge
	}
	return places, loads, nil
}

func (k *checker) spreadLoad(sr *spreadRow, places []string) (load, string, error) {
	l := load{n: sr.pods, classes: make([]int, len(places)), fewest: make([]int64, len(places)), top: make([]int64, len(places)),
		each: make([]int64, len(places)), base: make([]int64, len(places))}
	marginal := k.marginal(sr)
	kinds := []int{}
	for i, zone := range places {
		l.classes[i] = -1
		for j, class := range sr.members {
			v := k.classes[class]
			if v.zone != zone {
				continue
			}
			if v.group < 0 {
				kinds = append(kinds, v.kind)
			}
			l.classes[i], l.fewest[i], l.top[i] = class, sr.fewest[j], sr.top[j]
			l.each[i] = int64(v.value) - marginal
			l.base[i] = l.each[i] * sr.fewest[j]
			if l.each[i] < 0 {
				l.base[i] = l.each[i] * sr.top[j]
			}
		}
	}
	for _, class := range sr.members {
		v := k.classes[class]
		if v.value == 0 && k.onNode[class] || !slices.Contains(places, v.zone) && v.count > 0 {
			return l, "", errors.New("existing nodes serve some of the pods")
		}
	}
	if len(kinds) < len(places) {
		return l, "", nil
	}
	return l, asText(kinds, marginal), nil
}

// marginal is the value of the pod of the row that is worth most of those that may go where they like.
func (k *checker) marginal(sr *spreadRow) int64 {
	order := make([]int, len(sr.members))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(k.classes[sr.members[a]].value, k.classes[sr.members[b]].value)
	})
	rest := sr.pods
	for _, n := range sr.fewest {
		rest -= n
	}
	last := int64(k.classes[sr.members[order[0]]].value)
	for _, i := range order {
		if rest > 0 {
			last = int64(k.classes[sr.members[i]].value)
		}
		rest -= sr.top[i] - sr.fewest[i]
	}
	return last
}

// wholeCheck goes through the ways to serve pods.
type wholeCheck struct {
	k      *checker
	reach  int64
	left   int64
	loads  []load
	places int
	shift  []int // of each load's number in a way
	guard  uint64
}

// way is pods that a place serves, and what that costs more than they are worth.
type way struct {
	pods uint64
	cost int64
}

// fits reports whether a way takes no more of anything than another.
func (w *wholeCheck) fits(a, in uint64) bool { return ((in|w.guard)-a)&w.guard == w.guard }

func (w *wholeCheck) number(pods uint64, load int) int64 {
	return int64(pods >> w.shift[load] & (1<<bits.Len64(uint64(w.loads[load].n)) - 1))
}

// place finds all ways to serve pods in a place that cost less than reach more than the pods are worth.
func (w *wholeCheck) place(at int, offers []offer) ([]way, error) {
	var here []int // loads, the pods that are worth most first
	all := 1
	for i := range w.loads {
		l := &w.loads[i]
		if l.classes[at] < 0 || l.top[at] == 0 {
			continue
		}
		here = append(here, i)
		if all *= int(l.top[at]) + 1; all > maxWays {
			return nil, errTooLarge
		}
	}
	slices.SortStableFunc(here, func(a, b int) int {
		return cmp.Compare(w.k.classes[w.loads[b].classes[at]].value, w.k.classes[w.loads[a].classes[at]].value)
	})
	fillings, err := w.fillings(at, w.best(offers), here, all)
	if err != nil {
		return nil, err
	}
	most := uint64(0)
	for _, i := range here {
		most |= uint64(w.loads[i].top[at]) << w.shift[i]
	}
	// Loads are served one after the other: each next instance has some of the first load that is not done.
	now := map[uint64]int64{0: 0}
	for j, i := range here {
		l := &w.loads[i]
		byNumber := make([]map[uint64]int64, l.top[at]+1)
		for n := range byNumber {
			byNumber[n] = map[uint64]int64{}
		}
		for pods, cost := range now {
			byNumber[w.number(pods, i)][pods] = cost
		}
		done := map[uint64]int64{}
		for n := range byNumber {
			extra := l.each[at]*int64(n) - l.base[at]
			for pods, cost := range byNumber[n] {
				if int64(n) >= l.fewest[at] && cost+extra < w.reach {
					done[pods] = cost + extra
				}
				for _, f := range fillings[j] {
					if w.left--; cost+f.cost >= w.reach {
						break
					}
					if !w.fits(f.pods, most-pods) {
						continue
					}
					w.left -= 20
					next := byNumber[w.number(pods+f.pods, i)]
					if known, ok := next[pods+f.pods]; !ok || cost+f.cost < known {
						next[pods+f.pods] = cost + f.cost
					}
				}
				if w.left < 0 {
					return nil, errTooLong
				}
			}
		}
		now = done
	}
	out := make([]way, 0, len(now))
	for pods, cost := range now {
		out = append(out, way{pods, cost})
	}
	slices.SortFunc(out, func(a, b way) int { return cmp.Or(cmp.Compare(a.cost, b.cost), cmp.Compare(a.pods, b.pods)) })
	return out, nil
}

// fillings are the ways to fill one instance that cost less than reach more than the pods are worth, by the first load of
// which they have some, the cheapest first.
func (w *wholeCheck) fillings(at int, offers []offer, here []int, all int) ([][]way, error) {
	// Ways are numbered so that those with fewer of everything come first.
	pods, first, cheapest := make([]uint64, all), make([]int32, all), make([]int32, all)
	worth := make([]int64, all)
	out := make([][]way, len(here))
	stride := 1
	for j := len(here) - 1; j >= 0; j-- {
		l := &w.loads[here[j]]
		value := int64(w.k.classes[l.classes[at]].value)
		end := stride * int(l.top[at]+1)
		for x := stride; x < end; x++ {
			less := x - stride
			pods[x], worth[x], first[x], cheapest[x] = pods[less]+1<<w.shift[here[j]], worth[less]+value, int32(j), cheapest[less]
			for ; int(cheapest[x]) < len(offers) && !w.holds(&offers[cheapest[x]], pods[x], at, here); cheapest[x]++ {
				w.left -= 3
			}
			if w.left -= int64(len(here)); w.left < 0 {
				return nil, errTooLong
			}
			if int(cheapest[x]) == len(offers) {
				continue
			}
			if more := offers[cheapest[x]].price*1000 - worth[x]; more < w.reach {
				out[j] = append(out[j], way{pods[x], more})
			}
		}
		stride = end
	}
	for j := range out {
		slices.SortFunc(out[j], func(a, b way) int { return cmp.Or(cmp.Compare(a.cost, b.cost), cmp.Compare(a.pods, b.pods)) })
	}
	return out, nil
}

// best drops offers that are nowhere better than a cheaper one, and sorts the rest by price.
func (w *wholeCheck) best(offers []offer) []offer {
	served := func(o offer) (text []byte) {
		for _, ok := range o.m.allowed {
			if ok {
				text = append(text, 1)
			} else {
				text = append(text, 0)
			}
		}
		return text
	}
	slices.SortFunc(offers, func(a, b offer) int {
		return cmp.Or(cmp.Compare(a.price, b.price), slices.Compare(b.m.room, a.m.room), bytes.Compare(served(b), served(a)))
	})
	var out []offer
	for _, o := range offers {
		worse := slices.ContainsFunc(out, func(b offer) bool {
			if !b.m.room.Dominates(o.m.room) {
				return false
			}
			for i, ok := range o.m.allowed {
				if ok && !b.m.allowed[i] {
					return false
				}
			}
			return true
		})
		if !worse {
			out = append(out, o)
		}
	}
	return out
}

// holds reports whether one instance can serve the pods.
func (w *wholeCheck) holds(o *offer, pods uint64, at int, here []int) bool {
	k := w.k
	for r, room := range o.m.room {
		for _, i := range here {
			if x := k.classes[w.loads[i].classes[at]].req[r]; x > 0 {
				room -= x * w.number(pods, i)
			}
		}
		if room < 0 && o.m.room[r] != room {
			return false
		}
	}
	for a, i := range here {
		n := w.number(pods, i)
		if n == 0 {
			continue
		}
		class := w.loads[i].classes[at]
		if !o.m.allowed[class] {
			return false
		}
		g := k.classes[class].group
		if g < 0 {
			continue
		}
		for _, j := range here[a+1:] {
			if k.classes[w.loads[j].classes[at]].group == g {
				n += w.number(pods, j)
			}
		}
		if n > k.groupMost(o.m, g) {
			return false
		}
	}
	return true
}

// combine adds what a place serves to what those before serve.
func (w *wholeCheck) combine(used map[uint64]int64, ways []way, place int, total uint64) (map[uint64]int64, error) {
	out := map[uint64]int64{}
	put := func(pods uint64, cost int64) {
		w.left -= 20
		if known, ok := out[pods]; cost < w.reach && (!ok || cost < known) {
			out[pods] = cost
		}
	}
	if place == w.places-1 { // it has to serve whatever is left
		cheapest := make(map[uint64]int64, len(ways))
		for _, x := range ways {
			cheapest[x.pods] = x.cost
		}
		for before, cost := range used {
			if more, ok := cheapest[total-before]; ok {
				put(total, cost+more)
			}
		}
		return out, nil
	}
	for before, cost := range used {
		for _, x := range ways {
			if w.left--; cost+x.cost >= w.reach {
				break
			}
			if w.fits(x.pods, total-before) {
				put(before+x.pods, cost+x.cost)
			}
		}
		if w.left < 0 {
			return nil, errTooLong
		}
	}
	return out, nil
}
