package cluster_test

import (
	"testing"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
)

func TestTypesAtLastingPricesStayTheSame(t *testing.T) {
	spot := func(name string, high catalog.MicroUSD) *catalog.Type {
		o := catalog.Offering{Zone: "a", CapacityType: catalog.Spot, Price: 40}
		if high > 0 {
			o.Lately = &catalog.Range{Low: 30, High: high}
		}
		return &catalog.Type{Name: name, Offerings: []catalog.Offering{o}}
	}
	steady, moved, dearer := spot("steady", 0), spot("moved", 55), spot("dearer", 70)
	first, calm := []*catalog.Type{steady, moved}, []*catalog.Type{steady}
	var x cluster.Raiser
	raise := func(lists ...[]*catalog.Type) [][]*catalog.Type {
		var pools []*cluster.Pool
		for _, l := range lists {
			pools = append(pools, &cluster.Pool{Types: l})
		}
		x.Apply(pools)
		var out [][]*catalog.Type
		for _, p := range pools {
			out = append(out, p.Types)
		}
		return out
	}
	a := raise(first, first, calm, nil)
	if a[0][1].Offerings[0].Price != 55 || a[0][0] != steady {
		t.Errorf("raised to %d", a[0][1].Offerings[0].Price)
	}
	if &a[0][0] != &a[1][0] {
		t.Error("two pools of one list have two")
	}
	if &a[2][0] != &calm[0] || a[3] != nil {
		t.Error("a list of which nothing has moved is another one")
	}
	if b := raise(first); &b[0][0] != &a[0][0] {
		t.Error("the same list is another one the second time")
	}
	c := raise([]*catalog.Type{steady, moved, dearer})
	if c[0][1] != a[0][1] || c[0][2].Offerings[0].Price != 70 {
		t.Error("a type that did not change is another one in a new list")
	}
	if d := raise([]*catalog.Type{dearer, steady}, []*catalog.Type{steady, dearer}); d[0][0] != d[1][1] {
		t.Error("a type of two lists is two")
	}
	if moved.Offerings[0].Price != 40 {
		t.Error("the list itself was changed")
	}
}
