package pack

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// search takes a few drafts apart again and again, and packs what was on them anew, in another order each time. It keeps
// what is cheaper, or as cheap and further on the way there: better filled here, emptier there.
//
// The choice of drafts follows a fixed sequence, so that the same drafts give the same result.
func (k *packer) search(drafts []*draft, kinds []int, work *int64) []*draft {
	rng := rand.New(rand.NewPCG(1, uint64(len(drafts))))
	for idle := 0; *work > 0 && idle < 16; {
		order := worstFirst(drafts)
		*work -= int64(4 * len(order))
		better := false
		for seed := 0; seed < len(order) && *work > 0; seed++ {
			if drafts[order[seed]] == nil {
				continue
			}
			picked := k.pick(drafts, order, seed, rng)
			fresh, ok := k.repack(drafts, picked, kinds, rng)
			*work -= k.work
			k.work = 0
			if !ok {
				continue
			}
			better = true
			for _, at := range picked {
				drafts[at] = nil
			}
			for i, d := range fresh {
				if i < len(picked) {
					drafts[picked[i]] = d
				} else {
					drafts = append(drafts, d)
				}
			}
		}
		drafts = slices.DeleteFunc(drafts, func(d *draft) bool { return d == nil })
		if idle++; better {
			idle = 0
		}
	}
	return drafts
}

// worstFirst orders drafts by worth per price.
func worstFirst(drafts []*draft) []int {
	order := make([]int, len(drafts))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := drafts[a], drafts[b]
		return cmp.Compare(x.worth/float64(max(1, x.price)), y.worth/float64(max(1, y.price)))
	})
	return order
}

// pick chooses the draft at seed and some others, bad ones more often than good ones.
func (k *packer) pick(drafts []*draft, order []int, seed int, rng *rand.Rand) []int {
	picked := []int{order[seed]}
	for range rng.IntN(min(5, len(order))) {
		// The lesser of two throws favours what is early in the order.
		at := order[min(rng.IntN(len(order)), rng.IntN(len(order)))]
		if drafts[at] != nil && !slices.Contains(picked, at) {
			picked = append(picked, at)
		}
	}
	slices.Sort(picked)
	return picked
}

// repack packs what is on the picked drafts anew. False, with all as it was, if that is no better.
func (k *packer) repack(drafts []*draft, picked, kinds []int, rng *rand.Rand) ([]*draft, bool) {
	old := make([]*draft, len(picked))
	var lots []*itemType
	for i, at := range picked {
		old[i] = drafts[at]
		drafts[at].giveBack()
		for _, q := range drafts[at].loads {
			if !slices.Contains(lots, q.lot) {
				lots = append(lots, q.lot)
			}
		}
	}
	shuffle(lots, rng)
	fresh, ok := k.packAll(lots, someTypes(kinds, old, rng), rng.IntN(6) > 0)
	if !ok || !cheaper(fresh, old) {
		for _, d := range fresh {
			d.giveBack()
		}
		for _, d := range old {
			d.take()
		}
		return nil, false
	}
	return fresh, true
}

// shuffle orders item types by worth, each worth bent a little by chance.
func shuffle(lots []*itemType, rng *rand.Rand) {
	for _, l := range lots {
		l.bent = float64(l.value * (0.5 + float64(rng.Float64())))
	}
	slices.SortStableFunc(lots, func(a, b *itemType) int { return cmp.Compare(b.bent, a.bent) })
}

// someTypes are the types of the drafts and a few of the others.
func someTypes(kinds []int, drafts []*draft, rng *rand.Rand) []int {
	out := make([]int, 0, 8)
	for range min(4, len(kinds)) {
		if t := kinds[rng.IntN(len(kinds))]; !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	for _, d := range drafts {
		if !slices.Contains(out, d.best) {
			out = append(out, d.best)
		}
	}
	return out
}

// cheaper compares by price, then by number, then by how unevenly the worth is spread: a draft that is nearly empty is
// nearly gone.
func cheaper(a, b []*draft) bool {
	if x, y := priceOf(a), priceOf(b); x != y {
		return x < y
	}
	if len(a) != len(b) {
		return len(a) < len(b)
	}
	return unevenness(a) > unevenness(b)*(1+1e-9)
}

func unevenness(drafts []*draft) float64 {
	sum := 0.0
	for _, d := range drafts {
		x := d.worth / float64(max(1, d.price))
		sum += float64(x * x)
	}
	return sum
}
