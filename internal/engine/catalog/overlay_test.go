package catalog_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

const familyLabel = "karpenter.k8s.aws/instance-family"

func in(key string, values ...string) requirement.Term {
	return requirement.Term{Key: key, Operator: requirement.In, Values: values}
}

func sample() *catalog.Type {
	return &catalog.Type{
		Name: "m5.large",
		Requirements: []requirement.Term{
			in("karpenter.k8s.aws/instance-cpu", "2"), in(familyLabel, "m5"), {Key: "karpenter.k8s.aws/instance-gpu-count", Operator: requirement.DoesNotExist}, in("node.kubernetes.io/instance-type", "m5.large"),
		},
		Capacity: res.List{res.CPU: 2000},
		Offerings: []catalog.Offering{
			{Zone: "a", CapacityType: catalog.OnDemand, Price: 96_000, Available: true},
			{Zone: "a", CapacityType: catalog.Spot, Price: 40_000, Unavailable: "insufficient capacity"},
			{Zone: "b", CapacityType: catalog.Spot, Unavailable: catalog.WithoutPrice},
		},
	}
}

func TestOverlays(t *testing.T) {
	fixed := func(p catalog.MicroUSD) *catalog.PriceRule { return &catalog.PriceRule{Price: p} }
	plus := func(p catalog.MicroUSD) *catalog.PriceRule { return &catalog.PriceRule{Plus: &p} }
	percent := func(p int64) *catalog.PriceRule { p *= 1_000_000; return &catalog.PriceRule{Percent: &p} }
	untouched := [3]catalog.MicroUSD{96_000, 40_000, 0}
	labels := map[string]string{"karpenter.sh/nodepool": "blue", "team": "x"}
	for name, c := range map[string]struct {
		overlays []catalog.Overlay
		want     [3]catalog.MicroUSD
		capacity res.List
	}{
		"none":                            {nil, untouched, nil},
		"a price":                         {[]catalog.Overlay{{Price: fixed(7)}}, [3]catalog.MicroUSD{7, 7, 7}, nil},
		"a discount":                      {[]catalog.Overlay{{Price: percent(-28)}}, [3]catalog.MicroUSD{69_120, 28_800, 0}, nil},
		"a discount of all":               {[]catalog.Overlay{{Price: percent(-100)}}, [3]catalog.MicroUSD{0, 0, 0}, nil},
		"more is taken off than there is": {[]catalog.Overlay{{Price: plus(-50_000)}}, [3]catalog.MicroUSD{46_000, 0, 0}, nil},
		"a surcharge beyond all numbers":  {[]catalog.Overlay{{Price: &catalog.PriceRule{Percent: new(int64(1 << 62))}}}, [3]catalog.MicroUSD{4_427_218_577_786_292, 1_844_674_407_410_955, 0}, nil},
		"by capacity type":                {[]catalog.Overlay{{Requirements: []requirement.Term{in("karpenter.sh/capacity-type", "on-demand")}, Price: fixed(7)}}, [3]catalog.MicroUSD{7, 40_000, 0}, nil},
		"by zone":                         {[]catalog.Overlay{{Requirements: []requirement.Term{in("topology.kubernetes.io/zone", "b")}, Price: fixed(7)}}, [3]catalog.MicroUSD{96_000, 40_000, 7}, nil},
		"by kind of reservation":          {[]catalog.Overlay{{Requirements: []requirement.Term{in(requirement.ReservationType, "default")}, Price: fixed(7)}}, untouched, nil},
		"by partition":                    {[]catalog.Overlay{{Requirements: []requirement.Term{in(requirement.PlacementPartition, "1")}, Price: fixed(7)}}, untouched, nil},
		"by family":                       {[]catalog.Overlay{{Requirements: []requirement.Term{in(familyLabel, "m5", "c5")}, Price: fixed(7)}}, [3]catalog.MicroUSD{7, 7, 7}, nil},
		"another family":                  {[]catalog.Overlay{{Requirements: []requirement.Term{in(familyLabel, "c5")}, Price: fixed(7)}}, untouched, nil},
		"not this family":                 {[]catalog.Overlay{{Requirements: []requirement.Term{{Key: familyLabel, Operator: requirement.NotIn, Values: []string{"m5"}}}, Price: fixed(7)}}, untouched, nil},
		"by size":                         {[]catalog.Overlay{{Requirements: []requirement.Term{{Key: "karpenter.k8s.aws/instance-cpu", Operator: requirement.Gte, Values: []string{"2"}}}, Price: fixed(7)}}, [3]catalog.MicroUSD{7, 7, 7}, nil},
		"larger ones":                     {[]catalog.Overlay{{Requirements: []requirement.Term{{Key: "karpenter.k8s.aws/instance-cpu", Operator: requirement.Gt, Values: []string{"2"}}}, Price: fixed(7)}}, untouched, nil},
		"what the type does not have":     {[]catalog.Overlay{{Requirements: []requirement.Term{{Key: "karpenter.k8s.aws/instance-gpu-count", Operator: requirement.Exists}}, Price: fixed(7)}}, untouched, nil},
		"by pool":                         {[]catalog.Overlay{{Requirements: []requirement.Term{in("karpenter.sh/nodepool", "blue")}, Price: fixed(7)}}, [3]catalog.MicroUSD{7, 7, 7}, nil},
		"another pool":                    {[]catalog.Overlay{{Requirements: []requirement.Term{in("karpenter.sh/nodepool", "red")}, Price: fixed(7)}}, untouched, nil},
		"a label that the pool has not":   {[]catalog.Overlay{{Requirements: []requirement.Term{in("tier", "x")}, Price: fixed(7)}}, untouched, nil},
		"by the pool's label":             {[]catalog.Overlay{{Requirements: []requirement.Term{in("team", "x")}, Price: fixed(7)}}, [3]catalog.MicroUSD{7, 7, 7}, nil},
		"the heavier wins, per offering": {[]catalog.Overlay{
			{Name: "low", Weight: 1, Price: fixed(7)},
			{Name: "high", Weight: 9, Requirements: []requirement.Term{in("karpenter.sh/capacity-type", "spot")}, Price: fixed(5)},
		}, [3]catalog.MicroUSD{7, 5, 5}, nil},
		"of the same weight the later name": {[]catalog.Overlay{{Name: "a", Price: fixed(7)}, {Name: "b", Price: fixed(5)}}, [3]catalog.MicroUSD{5, 5, 5}, nil},
		"resources, each from the heaviest": {[]catalog.Overlay{
			{Name: "a", Weight: 1, Capacity: res.List{"smarter.io/fuse": 1, "x.io/y": 2}}, {Name: "b", Weight: 2, Capacity: res.List{"smarter.io/fuse": 20}},
		}, untouched, res.List{res.CPU: 2000, "smarter.io/fuse": 20, "x.io/y": 2}},
		"resources of another zone": {[]catalog.Overlay{{Requirements: []requirement.Term{in("topology.kubernetes.io/zone", "c")}, Capacity: res.List{"x.io/y": 2}}}, untouched, nil},
	} {
		was, now := sample(), sample()
		catalog.SortOverlays(c.overlays)
		got := now.Overlay(c.overlays, labels)
		if diff := cmp.Diff(was, now); diff != "" {
			t.Errorf("%s: the type itself was changed:\n%s", name, diff)
		}
		prices := [3]catalog.MicroUSD{got.Offerings[0].Price, got.Offerings[1].Price, got.Offerings[2].Price}
		if prices != c.want {
			t.Errorf("%s: prices are %v, want %v", name, prices, c.want)
		}
		if available := got.Offerings[2].Available; available != (prices[2] != 0) {
			t.Errorf("%s: what had no price is available: %v", name, available)
		}
		if got.Offerings[1].Available {
			t.Errorf("%s: what has no capacity is available", name)
		}
		if c.capacity == nil {
			c.capacity = was.Capacity
		}
		if diff := cmp.Diff(c.capacity, got.Capacity); diff != "" {
			t.Errorf("%s: capacity (-want +got):\n%s", name, diff)
		}
		if touched := prices != untouched || len(c.capacity) > 1; got == now && touched {
			t.Errorf("%s: the type was changed in place", name)
		}
	}
}
