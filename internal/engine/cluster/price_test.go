package cluster_test

import (
	"slices"
	"testing"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

func TestNodesGetThePriceOfTheOfferingTheyCameOf(t *testing.T) {
	pools := []*cluster.Pool{{Name: "default", Types: []*catalog.Type{{Name: "m.large", Offerings: []catalog.Offering{
		{Zone: "a", CapacityType: catalog.OnDemand, Price: 100, Available: true},
		{Zone: "a", CapacityType: catalog.Spot, Price: 30, Unavailable: "insufficient capacity"},
		{Zone: "b", CapacityType: catalog.OnDemand, Price: 110, Available: true},
		{Zone: "c", CapacityType: catalog.OnDemand, Unavailable: "no price"},
		{Zone: "a", CapacityType: catalog.Reserved, ReservationID: "cr-1", Price: 1},
		{Zone: "a", CapacityType: catalog.Reserved, ReservationID: "cr-2", Price: 2},
	}}}}}
	pools = append(pools, &cluster.Pool{Name: "prepaid", Types: []*catalog.Type{{Name: "m.large", Offerings: []catalog.Offering{
		{Zone: "a", CapacityType: catalog.OnDemand, Available: true}, // a NodeOverlay makes it 0 for this pool
	}}}})
	node := func(pool, zone, capacityType string) *cluster.Node {
		return &cluster.Node{Name: "n", Pool: pool, InstanceType: "m.large", Zone: zone, CapacityType: capacityType}
	}
	for name, tc := range map[string]struct {
		node *cluster.Node
		want catalog.MicroUSD
	}{
		"on demand":                            {node("default", "a", catalog.OnDemand), 100},
		"in a dearer zone":                     {node("default", "b", catalog.OnDemand), 110},
		"spot that can't be launched any more": {node("default", "a", catalog.Spot), 30},
		"without a price":                      {node("default", "c", catalog.OnDemand), 0},
		"of a pool that is not launched from":  {node("fixed", "a", catalog.OnDemand), 100},
		"free in its own pool":                 {node("prepaid", "a", catalog.OnDemand), 0},
		"of a type that nobody offers":         {&cluster.Node{Name: "n", Pool: "default", InstanceType: "gone", Zone: "a", CapacityType: catalog.OnDemand}, 0},
		"of no pool":                           {node("", "a", catalog.OnDemand), 0},
		"out of the cheapest reservation, when it does not say which": {node("default", "a", catalog.Reserved), 1},
	} {
		t.Run(name, func(t *testing.T) {
			var x cluster.Pricer
			got := x.Apply([]*cluster.Node{tc.node}, pools)[0]
			if got.Price != tc.want {
				t.Errorf("costs %d, want %d", got.Price, tc.want)
			}
			if again := x.Apply([]*cluster.Node{tc.node}, pools)[0]; again != got {
				t.Error("a node that did not change has another pointer the second time")
			}
			if tc.node.Price != 0 {
				t.Error("the node of the snapshot was written to")
			}
		})
	}
	var filled cluster.Pricer
	pools[0].Types[0].AttachLimits = res.List{"ebs.csi.aws.com": 25}
	silent, told := node("default", "a", catalog.OnDemand), node("default", "a", catalog.OnDemand)
	told.AttachLimits = res.List{"ebs.csi.aws.com": 3}
	for i, n := range filled.Apply([]*cluster.Node{silent, told}, pools) {
		if want := []int64{25, 3}[i]; n.AttachLimits["ebs.csi.aws.com"] != want {
			t.Errorf("attaches %d volumes, want %d", n.AttachLimits["ebs.csi.aws.com"], want)
		}
	}
	pools[0].Types = append(pools[0].Types, &catalog.Type{Name: "m.small", AttachLimits: res.List{"ebs.csi.aws.com": 7}})
	asked := &cluster.Node{Name: "n", Pool: "default", Requirements: []requirement.Term{{Key: requirement.InstanceType, Operator: requirement.In, Values: []string{"m.large", "m.small"}}}}
	if n := filled.Apply([]*cluster.Node{asked}, pools)[0]; n.AttachLimits["ebs.csi.aws.com"] != 7 {
		t.Errorf("an instance that may become m.small attaches %d volumes, want 7", n.AttachLimits["ebs.csi.aws.com"])
	}
	var x cluster.Pricer
	n := node("default", "a", catalog.Reserved)
	n.Labels = map[string]string{requirement.ReservationID: "cr-2"}
	if got := x.Apply([]*cluster.Node{n}, pools)[0]; got.Price != 2 {
		t.Errorf("out of cr-2 it costs %d, want 2", got.Price)
	}
}

func TestTheLeastThatANodeHasCost(t *testing.T) {
	moved := &catalog.Type{Name: "m.large", Offerings: []catalog.Offering{
		{Zone: "a", CapacityType: catalog.Spot, Price: 40, Lately: &catalog.Range{Low: 30, High: 55}},
	}}
	pools := []*cluster.Pool{{Name: "default", Types: []*catalog.Type{moved}}}
	n := &cluster.Node{Name: "n", Pool: "default", Zone: "a", CapacityType: catalog.Spot, InstanceType: "m.large"}
	for _, c := range []struct {
		least bool
		want  catalog.MicroUSD
	}{{false, 40}, {true, 30}} {
		x := cluster.Pricer{Least: c.least}
		if got := x.Apply([]*cluster.Node{n}, pools)[0].Price; got != c.want {
			t.Errorf("least %v: costs %d, want %d", c.least, got, c.want)
		}
	}
}

// TestAListOfTypesIsReadOnce: a name that changes in a list, as none does, shows whether the list is read again.
func TestAListOfTypesIsReadOnce(t *testing.T) {
	list := []*catalog.Type{{Name: "m.large", Offerings: []catalog.Offering{{Zone: "a", CapacityType: catalog.OnDemand, Price: 100}}}}
	var x cluster.Pricer
	price := func(lists ...[]*catalog.Type) catalog.MicroUSD {
		var pools []*cluster.Pool
		for _, l := range lists {
			pools = append(pools, &cluster.Pool{Name: "default", Types: l})
		}
		return x.Apply([]*cluster.Node{{Name: "n", Pool: "default", InstanceType: "m.large", Zone: "a", CapacityType: catalog.OnDemand}}, pools)[0].Price
	}
	for _, step := range []struct {
		what  string
		name  string
		lists [][]*catalog.Type
		want  catalog.MicroUSD
	}{
		{"it is new", "m.large", [][]*catalog.Type{list}, 100},
		{"it is the same", "renamed", [][]*catalog.Type{list}, 100},
		{"and once more", "renamed", [][]*catalog.Type{list}, 100},
		{"another one", "renamed", [][]*catalog.Type{slices.Clone(list)}, 0},
		{"the first is new again", "renamed", [][]*catalog.Type{list}, 0},
		{"no pool has types", "m.large", nil, 0},
		{"it is forgotten, too", "m.large", [][]*catalog.Type{list}, 100},
	} {
		list[0].Name = step.name
		if got := price(step.lists...); got != step.want {
			t.Errorf("%s: the node costs %d, want %d", step.what, got, step.want)
		}
	}
}
