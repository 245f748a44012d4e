package catalog_test

import (
	"testing"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
)

// Every decision asks of every offering whether it is short: where none is, that allocates nothing.
func TestTypesWithoutAShortageAreShared(t *testing.T) {
	types := []*catalog.Type{
		{Name: "a", Offerings: []catalog.Offering{{Zone: "z-a", Available: true}, {Zone: "z-b", Unavailable: "no subnet in zone"}}},
		{Name: "b", Offerings: []catalog.Offering{{Zone: "z-a", Unavailable: "no capacity", ForNow: true, Price: 1}, {Zone: "z-b", Available: true}}},
	}
	passing := func(_ *catalog.Type, o *catalog.Offering) bool { return o.Passing() }
	if n := testing.AllocsPerRun(10, func() { catalog.Opened(types[:1], passing) }); n != 0 {
		t.Errorf("%.0f allocations where nothing is short", n)
	}
	opened, found := catalog.Opened(types, passing)
	if !found || opened[0] != types[0] || opened[1] == types[1] || !opened[1].Offerings[0].Available || opened[1].Offerings[0].Unavailable != "" {
		t.Errorf("%v: %+v", found, opened[1])
	}
	if types[1].Offerings[0].Available {
		t.Error("the type itself was changed")
	}
	if same, found := catalog.Opened(opened, passing); found || &same[0] != &opened[0] {
		t.Error("what is open already was copied")
	}
}
