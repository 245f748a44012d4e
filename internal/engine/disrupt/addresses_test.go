package disrupt_test

import (
	"fmt"
	"testing"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/engine/verify"
	"github.com/kerf-sh/kerf/internal/sim/scenario"
)

// dear is a cluster of four nodes in zone a, each of which a new one for a tenth of the price can replace, and no other can
// take the pods of.
func dear(subnets []cluster.Subnet, ways ...way) *disrupt.Problem {
	p := &pack.Problem{Pools: []*cluster.Pool{{Name: "default", Subnets: subnets, Types: []*catalog.Type{typeOf("new", 4, ways...)}}},
		Options: pack.Options{WellKnown: scenario.WellKnown()}}
	for i := range 4 {
		name := fmt.Sprint("old-", i)
		p.Nodes = append(p.Nodes, &cluster.Node{Name: name, Claim: name, Pool: "default", Zone: "a", CapacityType: catalog.OnDemand, InstanceType: "old",
			Price: 1_000_000, Initialized: true, Launched: true, Allocatable: res.List{res.CPU: 4000, res.Memory: 8 << 30, res.Pods: 50},
			Pods: []*cluster.Pod{{PodRef: cluster.PodRef{Namespace: "ns", Name: fmt.Sprint("pod-", i)}, Node: name,
				Class: &cluster.Class{ID: "class", Namespace: "ns", Requests: res.List{res.CPU: 3000, res.Pods: 1}}}}})
	}
	return anyway(p)
}

func TestMovesStayWithinTheAddressesOfSubnets(t *testing.T) {
	const od = catalog.OnDemand
	inA, inBoth := []way{{"a", od, 100_000}}, []way{{"a", od, 100_000}, {"b", od, 110_000}}
	for name, tt := range map[string]struct {
		subnets []cluster.Subnet
		ways    []way
		new     int
		zones   map[string]int // of new nodes at their cheapest
	}{
		"addresses are not counted":         {nil, inA, 4, nil},
		"a subnet with more than enough":    {[]cluster.Subnet{{ID: "subnet-a", Zone: "a", Free: 4}}, inA, 4, nil},
		"a subnet with three":               {[]cluster.Subnet{{ID: "subnet-a", Zone: "a", Free: 3}}, inA, 3, nil},
		"a subnet with none":                {[]cluster.Subnet{{ID: "subnet-a", Zone: "a", Free: 0}}, inA, 0, nil},
		"one with three, another zone open": {[]cluster.Subnet{{ID: "subnet-a", Zone: "a", Free: 3}}, inBoth, 4, map[string]int{"b": 1}},
		// The first may be launched in both, and holds an address in each until it is.
		"two subnets in two zones": {[]cluster.Subnet{{ID: "subnet-a", Zone: "a", Free: 1}, {ID: "subnet-b", Zone: "b", Free: 2}}, inBoth, 2, nil},
	} {
		for kind, decide := range map[string]func(*disrupt.Problem) *disrupt.Decision{
			"consolidation": disrupt.Decide,
			"drift": func(p *disrupt.Problem) *disrupt.Decision {
				return disrupt.Replace(p, disrupt.Drifted, []string{"old-0", "old-1", "old-2", "old-3"})
			},
		} {
			t.Run(kind+"/"+name, func(t *testing.T) {
				p := dear(tt.subnets, tt.ways...)
				d := decide(p)
				if kind == "consolidation" {
					for _, v := range verify.Moves(p, d) {
						t.Error(v)
					}
				}
				launched, zones := 0, map[string]int{}
				for _, m := range d.Moves {
					launched += len(m.NewNodes)
					for _, nn := range m.NewNodes {
						zones[nn.Types[0].Zone]++
					}
				}
				if launched != tt.new {
					t.Errorf("%d new nodes, want %d\n%s", launched, tt.new, d)
				}
				for zone, n := range tt.zones {
					if zones[zone] < n {
						t.Errorf("%d new nodes are planned in zone %s, want %d\n%s", zones[zone], zone, n, d)
					}
				}
				for _, k := range d.Kept {
					if k.Reasons[0].Code != disrupt.NoAddresses || k.Reasons[0].Have == "" {
						t.Errorf("%s is kept: %s", k.Node, k.Reasons[0].Text())
					}
				}
			})
		}
	}
}

func TestTheSecondOpinionCountsAddressesOfMoves(t *testing.T) {
	p := dear(nil, way{"a", catalog.OnDemand, 100_000})
	d := disrupt.Decide(p)
	p.Cluster.Pools[0].Subnets = []cluster.Subnet{{ID: "subnet-a", Zone: "a", Free: 3}}
	for _, v := range verify.Moves(p, d) {
		if v.Rule == "addresses" {
			return
		}
	}
	t.Fatalf("four new nodes in a subnet of three addresses are not objected to\n%s", d)
}
