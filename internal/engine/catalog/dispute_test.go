package catalog_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

func TestOverlaysThatContradictEachOther(t *testing.T) {
	price := &catalog.PriceRule{Price: 1}
	spot, onDemand := in("karpenter.sh/capacity-type", "spot"), in("karpenter.sh/capacity-type", "on-demand")
	for name, c := range map[string]struct {
		overlays []catalog.Overlay
		want     [][]int
	}{
		"two prices of all":           {[]catalog.Overlay{{Price: price}, {Price: price}}, [][]int{{0, 1}}},
		"of other weight":             {[]catalog.Overlay{{Price: price, Weight: 1}, {Price: price}}, nil},
		"of other offerings":          {[]catalog.Overlay{{Price: price, Requirements: []requirement.Term{spot}}, {Price: price, Requirements: []requirement.Term{onDemand}}}, nil},
		"a price and a resource":      {[]catalog.Overlay{{Price: price}, {Capacity: res.List{"x.io/y": 1}}}, nil},
		"the same resource":           {[]catalog.Overlay{{Capacity: res.List{"x.io/y": 2}, Requirements: []requirement.Term{spot}}, {Capacity: res.List{"x.io/y": 1}, Requirements: []requirement.Term{onDemand}}}, [][]int{{0, 1}}},
		"another resource":            {[]catalog.Overlay{{Capacity: res.List{"x.io/z": 2}}, {Capacity: res.List{"x.io/y": 1}}}, nil},
		"of types that there are not": {[]catalog.Overlay{{Price: price, Requirements: []requirement.Term{in(familyLabel, "c5")}}, {Price: price}}, nil},
		"two disputes of two weights": {[]catalog.Overlay{{Price: price, Weight: 2}, {Price: price, Weight: 2}, {Price: price, Weight: 1}, {Price: price}, {Price: price}}, [][]int{{0, 1}, {3, 4}}},
	} {
		if diff := cmp.Diff(c.want, sample().Disputes(c.overlays, nil)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Whether two overlays contradict each other can also be asked of the two alone.
func TestDisputesAreThoseOfPairs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ty := sample()
		overlays := make([]catalog.Overlay, rapid.IntRange(0, 6).Draw(t, "overlays"))
		for i := range overlays {
			o := catalog.Overlay{Name: fmt.Sprint(i), Weight: rapid.IntRange(0, 1).Draw(t, "weight"), Capacity: res.List{}}
			if rapid.Bool().Draw(t, "priced") {
				o.Price = &catalog.PriceRule{Price: 1}
			}
			for _, name := range []string{"x.io/y", "x.io/z"} {
				if rapid.Bool().Draw(t, name) {
					o.Capacity[name] = 1
				}
			}
			if kind := rapid.SampledFrom([]string{"", "spot", "on-demand", "reserved"}).Draw(t, "kind"); kind != "" {
				o.Requirements = append(o.Requirements, in("karpenter.sh/capacity-type", kind))
			}
			overlays[i] = o
		}
		catalog.SortOverlays(overlays)
		groups := ty.Disputes(overlays, nil)
		for a := range overlays {
			for b := a + 1; b < len(overlays); b++ {
				together := slices.ContainsFunc(groups, func(g []int) bool { return slices.Contains(g, a) && slices.Contains(g, b) })
				if alone := len(ty.Disputes([]catalog.Overlay{overlays[a], overlays[b]}, nil)) > 0; together != alone {
					t.Fatalf("%d and %d in %v: %t, alone %t", a, b, groups, together, alone)
				}
			}
		}
	})
}
