package apply

import (
	"slices"
	"strings"
	"testing"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// TestTypesThatWouldExceedALimitAreLeftOut: whatever EC2 chooses of what is listed, the limit holds.
func TestTypesThatWouldExceedALimitAreLeftOut(t *testing.T) {
	types := []*catalog.Type{
		{Name: "2", Capacity: res.List{"cpu": 2000, "memory": 16}}, {Name: "4", Capacity: res.List{"cpu": 4000, "memory": 8}}, {Name: "8", Capacity: res.List{"cpu": 8000, "memory": 32}},
	}
	for name, tt := range map[string]struct {
		limits, used res.List
		nodes        string // the types of each, the cheapest first
		want         string
		minValues    bool
	}{
		"no limit":                         {nil, nil, "2,4,8 2,4,8", "2,4,8 2,4,8", false},
		"a limit of nodes alone":           {res.List{"nodes": 2}, nil, "2,4,8 2,4,8", "2,4,8 2,4,8", false},
		"far away":                         {res.List{"cpu": 100_000}, nil, "2,4,8 2,4,8", "2,4,8 2,4,8", false},
		"nothing but the least":            {res.List{"cpu": 10_000}, res.List{"cpu": 6000}, "2,4,8 2,4,8", "2 2", false},
		"what is left is shared":           {res.List{"cpu": 8000}, nil, "2,4,8 2,4,8", "2,4 2,4", false},
		"the rest of a share goes on":      {res.List{"cpu": 14_000}, nil, "2,4 2,4,8", "2,4 2,4,8", false},
		"the cheapest stays if it may":     {res.List{"cpu": 8000}, nil, "8,2", "8,2", false},
		"the cheapest goes if it may not":  {res.List{"cpu": 7000}, nil, "8,4,2", "4,2", false},
		"the cheapest takes of the others": {res.List{"cpu": 10_000}, nil, "8,2 4,2", "8,2 2", false},
		"several limits":                   {res.List{"cpu": 8000, "memory": 16}, nil, "2,4,8", "2,4", false},
		"several values are needed":        {res.List{"cpu": 2000}, nil, "2,4,8", "2,4,8", true},
	} {
		t.Run(name, func(t *testing.T) {
			c := &checker{offered: map[string]*cluster.Pool{"p": {Name: "p", Types: types, Limits: tt.limits}}, used: map[string]res.List{"p": tt.used}}
			var nodes []plan.NewNode
			for list := range strings.FieldsSeq(tt.nodes) {
				n := plan.NewNode{Pool: "p"}
				for of := range strings.SplitSeq(list, ",") {
					n.Types = append(n.Types, plan.TypeChoice{Name: of})
				}
				if tt.minValues {
					n.Requirements = []requirement.Term{{Key: requirement.InstanceType, Operator: requirement.Exists, MinValues: 3}}
				}
				nodes = append(nodes, n)
			}
			before := slices.Clone(nodes[0].Types)
			var got []string
			for _, n := range c.withinLimits(nodes) {
				var list []string
				for _, of := range n.Types {
					list = append(list, of.Name)
				}
				got = append(got, strings.Join(list, ","))
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("types are %q, want %q", strings.Join(got, " "), tt.want)
			}
			if !slices.Equal(before, nodes[0].Types) {
				t.Error("the plan itself was changed")
			}
		})
	}
}

// TestANodeInFlightWeighsTheMost: until EC2 has chosen, the next decision must not give out what this one may take.
func TestANodeInFlightWeighsTheMost(t *testing.T) {
	node := testNode()
	node.Types[1].Price = node.Types[0].Price * 105 / 100
	got := expected(&node, &cluster.Pool{Types: testTypes()}, 10)
	dear := testNode()
	if expected(&dear, &cluster.Pool{Types: testTypes()}, 10).Capacity["cpu"] != 4000 {
		t.Error("a type that is twice as dear counts, though EC2 is not asked for it")
	}
	if expected(&dear, &cluster.Pool{Types: testTypes()}, 0).Capacity["cpu"] != 8000 {
		t.Error("a type that is twice as dear does not count, though EC2 is asked for it at any price")
	}
	if got.Capacity["cpu"] != 8000 || got.Allocatable["cpu"] != 3900 {
		t.Errorf("%v counts against limits and %v for pods, want 8000 of the larger and 3900 of the smaller type", got.Capacity["cpu"], got.Allocatable["cpu"])
	}
}
