package pricing

import (
	"slices"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
)

// quotes are what a spot pool has cost, oldest first: what was in force SpotMemory ago, and all after it.
type quotes struct {
	list []quote
	seen time.Time // when an answer last had the pool
}

// add takes an answer in. Answers may overtake each other, and say again what is known. Of two prices set at one time the
// higher counts.
func (q *quotes) add(answer []quote, now time.Time) {
	q.seen = now
	for _, a := range answer {
		at, found := slices.BinarySearchFunc(q.list, a, func(x, a quote) int { return x.set.Compare(a.set) })
		if found {
			q.list[at].price = max(q.list[at].price, a.price)
		} else {
			q.list = slices.Insert(q.list, at, a)
		}
	}
}

// newest is the price in force.
func (q *quotes) newest() catalog.MicroUSD { return q.list[len(q.list)-1].price }

// recall forgets what was in force before the last SpotMemory, and returns the range of the rest.
func (q *quotes) recall(now time.Time) catalog.Range {
	first := 0
	for first+1 < len(q.list) && !q.list[first+1].set.After(now.Add(-SpotMemory)) {
		first++
	}
	q.list = slices.Delete(q.list, 0, first)
	r := catalog.Range{Low: q.newest(), High: q.newest()}
	for _, x := range q.list {
		r.Low, r.High = min(r.Low, x.price), max(r.High, x.price)
	}
	return r
}
