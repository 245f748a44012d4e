package catalog

import (
	"maps"
	"slices"
)

// Disputes are the groups of overlays, by their place in the list, that say different things of the type with equal
// weight: they change the price of the same offering, or have the same resource. Each group is sorted and has two members
// or more; no group comes twice. The overlays are sorted; labels are those that the pool gives its nodes.
//
// Cost: overlays × offerings, and not their square.
func (t *Type) Disputes(overlays []Overlay, labels map[string]string) [][]int {
	var out [][]int
	for from := 0; from < len(overlays); {
		to := from + 1
		for to < len(overlays) && overlays[to].Weight == overlays[from].Weight {
			to++
		}
		if to-from > 1 {
			out = append(out, t.disputesOf(overlays[from:to], from, labels)...)
		}
		from = to
	}
	return out
}

// disputesOf are the groups among overlays of one weight, the first of which has the place from.
func (t *Type) disputesOf(overlays []Overlay, from int, labels map[string]string) [][]int {
	prices := make([][]int, len(t.Offerings)) // by offering
	resources := map[string][]int{}
	for i := range overlays {
		o := &overlays[i]
		if o.Price == nil && len(o.Capacity) == 0 || !o.choosesType(t, labels) {
			continue
		}
		chosen := false
		for at := range t.Offerings {
			if !o.choosesOffering(&t.Offerings[at]) {
				continue
			}
			chosen = true
			if o.Price != nil {
				prices[at] = append(prices[at], from+i)
			}
		}
		if chosen {
			for name := range o.Capacity {
				resources[name] = append(resources[name], from+i)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(resources)) {
		prices = append(prices, resources[name])
	}
	var out [][]int
	for _, group := range prices {
		if len(group) > 1 && !slices.ContainsFunc(out, func(g []int) bool { return slices.Equal(g, group) }) {
			out = append(out, group)
		}
	}
	return out
}
