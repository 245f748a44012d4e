package fleet

import (
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
)

// Partitions are the partitions of a placement group, sorted, in which what is wanted can be had at the lowest price; none
// where there are no partitions, or nothing can be had. A fleet launches in one partition, so it has to be chosen before all
// else, and Choose be told by a demand for its label.
func Partitions(types []*catalog.Type, want Want) []int32 {
	cheapest := map[int32]catalog.MicroUSD{}
	for _, p := range possible(types, byKey(want.Requirements), want.Requests) {
		for _, o := range p.Offerings {
			if price, seen := cheapest[o.Partition]; !seen || o.Price < price {
				cheapest[o.Partition] = o.Price
			}
		}
	}
	delete(cheapest, 0)
	var out []int32
	lowest := catalog.NoPrice
	for partition, price := range cheapest {
		if price < lowest {
			out, lowest = nil, price
		}
		if price == lowest {
			out = append(out, partition)
		}
	}
	slices.Sort(out)
	return out
}
