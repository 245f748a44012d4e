package disrupt_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kerf-sh/kerf/internal/catalog"
	"github.com/kerf-sh/kerf/internal/disrupt"
	"github.com/kerf-sh/kerf/internal/verify"
)

// cheaper is a spot node at $0.20, and n types that cost less, each much more than the one before.
func cheaper(n int) *disrupt.Problem {
	var types []*catalog.Type
	price := catalog.MicroUSD(1_000)
	for i := range n {
		types = append(types, typeOf(fmt.Sprintf("new-%02d", i), 2, way{"a", catalog.Spot, price}))
		price = price * 14 / 10
	}
	p := lone(types...)
	p.Cluster.Nodes[0].CapacityType = catalog.Spot
	p.Options.SpotToSpot = true
	return p
}

// Types count that are cheaper, whether or not a launch would be worth their price.
func TestFifteenTypesAreCountedByWhatTheNodeCosts(t *testing.T) {
	for n, want := range map[int]string{15: "", 14: "14 types would be cheaper on spot, and 15 are asked"} {
		p := cheaper(n)
		d := disrupt.Decide(p)
		for _, v := range verify.Moves(p, d) {
			t.Error(v)
		}
		switch {
		case want == "":
			if len(d.Moves) != 1 || len(d.Moves[0].NewNodes[0].Types) != 15 {
				t.Errorf("of %d cheaper types:\n%s", n, d)
			}
		case len(d.Kept) != 1 || d.Kept[0].Reasons[0].Text() != want:
			t.Errorf("of %d cheaper types:\n%s", n, d)
		}
	}
}

func TestAComparisonSaysThatSpotPricesHaveMoved(t *testing.T) {
	for name, lately := range map[string]*catalog.Range{"they have": {Low: 190_000, High: 300_000}, "they have not": nil} {
		dear := typeOf("new", 2, way{"a", catalog.Spot, 300_000})
		dear.Offerings[0].Lately = lately
		d := disrupt.Decide(lone(dear))
		if len(d.Kept) != 1 {
			t.Fatalf("%s:\n%s", name, d)
		}
		if text := d.Kept[0].Reasons[0].Text(); strings.Contains(text, "spot prices are compared at their worst") != (lately != nil) {
			t.Errorf("%s: %s", name, text)
		}
	}
}
