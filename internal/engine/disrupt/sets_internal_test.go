package disrupt

import (
	"fmt"
	"testing"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
)

// Without the feature gate there is nothing to be asked of sets of spot nodes: no new spot node may replace them.
func TestNoSetOfSpotNodesIsAskedAboutWithoutTheGate(t *testing.T) {
	for gate, want := range map[bool]bool{true: true, false: false} {
		p := &Problem{Cluster: &pack.Problem{}, Pools: []Pool{{Name: "default", Policy: WhenEmptyOrUnderutilized}}, Options: Options{SpotToSpot: gate}}
		p.Cluster.Pools = []*cluster.Pool{{Name: "default", Types: []*catalog.Type{{Name: "small"}}}}
		for i := range 4 {
			name := fmt.Sprintf("n%d", i+1)
			p.Cluster.Nodes = append(p.Cluster.Nodes, &cluster.Node{Name: name, Claim: name, Pool: "default", InstanceType: "small", Zone: "a", CapacityType: catalog.Spot,
				Price: 100_000, Launched: true, Registered: true, Initialized: true, Ready: true})
			p.Nodes = append(p.Nodes, Node{Name: name})
		}
		asked := false
		p.asked = func([]*nodeState) { asked = true }
		s := newSearch(p, new(pack.Questions).WhatIf(p.Cluster))
		for _, n := range s.managed() {
			n.movable = true
		}
		s.growSets()
		if asked != want {
			t.Errorf("spot to spot %v: sets were asked about: %v", gate, asked)
		}
	}
}

// Of a pool whose budget lets one node go there is one in a line, and nodes of the other pool behind its others are in it.
func TestALineHasOfEachPoolWhatItsBudgetLetsGo(t *testing.T) {
	a, b := &poolState{Pool: Pool{Allowed: map[Cause]int{Underutilized: 3}}}, &poolState{Pool: Pool{Allowed: map[Cause]int{Underutilized: 1}}}
	var nodes []*nodeState
	for _, pool := range []*poolState{a, b, b, a, b, b, a} {
		nodes = append(nodes, &nodeState{pool: pool, in: &Node{}})
	}
	line := lineOf(nodes)
	if len(line) != 4 || line[0].pool != a || line[1].pool != b || line[2].pool != a || line[3].pool != a {
		t.Errorf("the line has %d nodes of %d", len(line), len(nodes))
	}
}
