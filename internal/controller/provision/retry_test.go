package provision

import (
	"testing"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// TestWhatIsLaunchedFromNothingButAShortageIsTriedOnce: where other capacity is as good, EC2 takes that, and all nodes come.
func TestWhatIsLaunchedFromNothingButAShortageIsTriedOnce(t *testing.T) {
	short := func(price catalog.MicroUSD) catalog.Offering {
		return catalog.Offering{Zone: "a", CapacityType: catalog.Spot, Price: price, Available: true, Retried: true}
	}
	healthy := func(price catalog.MicroUSD) catalog.Offering {
		return catalog.Offering{Zone: "b", CapacityType: catalog.Spot, Price: price, Available: true}
	}
	for name, tt := range map[string]struct {
		first, second []catalog.Offering
		want          bool
	}{
		"nothing is short":                     {[]catalog.Offering{healthy(100)}, nil, false},
		"the only one is short":                {[]catalog.Offering{short(100)}, nil, true},
		"another zone is as cheap":             {[]catalog.Offering{short(100), healthy(100)}, nil, false},
		"another zone is nearly as cheap":      {[]catalog.Offering{short(100), healthy(110)}, nil, false},
		"another zone is too dear to be taken": {[]catalog.Offering{short(100), healthy(111)}, nil, true},
		"another type is nearly as cheap":      {[]catalog.Offering{short(100)}, []catalog.Offering{healthy(105)}, false},
		"all types are short":                  {[]catalog.Offering{short(100)}, []catalog.Offering{short(105)}, true},
		"another type is closed":               {[]catalog.Offering{short(100)}, []catalog.Offering{{Zone: "b", CapacityType: catalog.Spot, Price: 100}}, true},
		"another zone is not allowed":          {[]catalog.Offering{short(100), {Zone: "c", CapacityType: catalog.Spot, Price: 100, Available: true}}, nil, true},
	} {
		pool := &cluster.Pool{Name: "p", Types: []*catalog.Type{{Name: "1", Offerings: tt.first}, {Name: "2", Offerings: tt.second}, {Name: "3", Offerings: []catalog.Offering{healthy(1)}}}}
		n := &plan.NewNode{Pool: "p", Types: []plan.TypeChoice{{Name: "1", Price: 100}, {Name: "2", Price: 105}},
			Requirements: []requirement.Term{{Key: requirement.Zone, Operator: requirement.In, Values: []string{"a", "b"}}}}
		if got := retries(n, pool, 10); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
		if anyPrice := name == "another zone is too dear to be taken"; anyPrice && retries(n, pool, 0) {
			t.Errorf("%s: EC2 is asked for it at any price, and it is not short", name)
		}
	}
}
