package pack_test

import (
	"fmt"
	"testing"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/sim/scenario"
)

// Each type that is sold out makes room for another on the list of a launch, and is not named.
func TestSoldOutTypesDoNotShortenTheList(t *testing.T) {
	list := func(out int) []string {
		p := scenario.Generate(1, 1, 1)
		p.Pools[0].Types = nil
		for i := range 40 {
			name := fmt.Sprintf("type-%02d", i)
			p.Pools[0].Types = append(p.Pools[0].Types, &catalog.Type{Name: name,
				Capacity: res.List{res.CPU: 4000, res.Memory: 16 << 30, res.Pods: 110},
				Requirements: []requirement.Term{in(requirement.InstanceType, name), in(requirement.Arch, "amd64"), in(requirement.OS, "linux"),
					in(requirement.Zone, zones[0]), in(requirement.CapacityType, catalog.OnDemand)},
				Offerings: []catalog.Offering{{Zone: zones[0], CapacityType: catalog.OnDemand, Price: catalog.MicroUSD(100_000 + 3000*i), Available: i >= out}}})
		}
		plan := pack.Solve(p)
		if len(plan.NewNodes) != 1 {
			t.Fatalf("%d instances", len(plan.NewNodes))
		}
		var names []string
		for _, c := range plan.NewNodes[0].Types {
			names = append(names, c.Name)
		}
		return names
	}
	all := list(0)
	for _, out := range []int{1, 5, 12} {
		got := list(out)
		if want := fmt.Sprintf("type-%02d", out); got[0] != want {
			t.Errorf("%d sold out: the list begins with %s, not %s", out, got[0], want)
		}
		if len(got) < len(all)+min(out, 40-out-len(all)) {
			t.Errorf("%d sold out: %d types are listed, %d were with all of them", out, len(got), len(all))
		}
	}
}
