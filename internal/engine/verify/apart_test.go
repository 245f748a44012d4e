package verify_test

import (
	"slices"
	"testing"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/engine/verify"
	"github.com/kerf-sh/kerf/internal/sim/scenario"
)

// A new node that leaves its zone open may be launched in any of them, and must be apart in each.
func TestANodeWhoseZoneIsOpenMustBeApartInEach(t *testing.T) {
	in := func(values ...string) []requirement.Term {
		return []requirement.Term{{Key: requirement.Zone, Operator: requirement.In, Values: values}}
	}
	class := func(name, apart string) *cluster.Class {
		c := &cluster.Class{Namespace: "ns", Labels: map[string]string{"app": name}, Requests: res.List{res.CPU: 1000, res.Pods: 1}}
		if apart != "" {
			selector := &cluster.Selector{Terms: []requirement.Term{{Key: "app", Operator: requirement.In, Values: []string{apart}}}}
			c.AntiAffinity = []cluster.PodAffinity{{Key: requirement.Zone, Selector: selector}}
		}
		c.ID = c.Hash()
		return c
	}
	for name, test := range map[string]struct {
		running, pending *cluster.Class
		zones            []requirement.Term
		refused          bool
	}{
		"a running pod repels, the zone is open":   {class("old", "new"), class("new", ""), nil, true},
		"a running pod repels, another zone":       {class("old", "new"), class("new", ""), in("b"), false},
		"a running pod repels, two other zones":    {class("old", "new"), class("new", ""), in("b", "c"), false},
		"the pod repels, the zone is open":         {class("old", ""), class("new", "old"), in("a", "b"), true},
		"the pod repels, two other zones":          {class("old", ""), class("new", "old"), in("b", "c"), false},
		"neither repels the other, a zone is open": {class("old", "other"), class("new", "other"), nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			types := &catalog.Type{Name: "t", Capacity: res.List{res.CPU: 4000, res.Pods: 10}}
			for _, zone := range []string{"a", "b", "c"} {
				types.Offerings = append(types.Offerings, catalog.Offering{Zone: zone, CapacityType: catalog.OnDemand, Price: 100, Available: true})
			}
			old := &cluster.Pod{PodRef: cluster.PodRef{Namespace: "ns", Name: "old", UID: "old"}, Class: test.running, Node: "n"}
			pod := &cluster.Pod{PodRef: cluster.PodRef{Namespace: "ns", Name: "new", UID: "new"}, Class: test.pending}
			p := &pack.Problem{Options: pack.Options{WellKnown: scenario.WellKnown()}, Pools: []*cluster.Pool{{Name: "p", Types: []*catalog.Type{types}}}, Pending: []*cluster.Pod{pod},
				Nodes: []*cluster.Node{{Name: "n", Initialized: true, Labels: map[string]string{requirement.Zone: "a"}, Allocatable: res.List{res.CPU: 1000, res.Pods: 10}, Pods: []*cluster.Pod{old}}}}
			out := &plan.Plan{Price: 100, NewNodes: []plan.NewNode{{Pool: "p", Price: 100, Requirements: test.zones, Pods: []cluster.PodRef{pod.PodRef}, Types: []plan.TypeChoice{{Name: "t", Price: 100}}}}}
			found := verify.Check(p, out)
			if refused := slices.ContainsFunc(found, func(v verify.Violation) bool { return v.Rule == "anti-affinity" }); refused != test.refused || len(found) > 1 {
				t.Errorf("found %v", found)
			}
		})
	}
}
