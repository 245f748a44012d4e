package demo

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/record"
)

func TestHowMovesAreTold(t *testing.T) {
	node := func(name string) *cluster.Node {
		return &cluster.Node{Name: "node-" + name, Claim: name, InstanceType: "m5.large"}
	}
	p := &disrupt.Problem{Cluster: &pack.Problem{Nodes: []*cluster.Node{node("a"), node("b"), node("c"), node("d"), node("e")}}}
	decided := &disrupt.Decision{Moves: []disrupt.Move{
		{Cause: disrupt.Empty, Nodes: []string{"node-a"}, Old: 100_000, Saving: 100_000, Why: "no pods need it"},
		{
			Cause: disrupt.Underutilized, Nodes: []string{"node-b", "node-c"}, Old: 200_000, Saving: 150_000, Why: "it is cheaper",
			NewNodes:   []plan.NewNode{{Price: 50_000, Types: []plan.TypeChoice{{Name: "c5.large", CapacityType: "spot"}}, Pods: make([]cluster.PodRef, 4)}},
			Placements: []plan.Placement{{Node: "node-e", Pods: make([]cluster.PodRef, 2)}},
		},
		{Cause: disrupt.Empty, Nodes: []string{"node-d"}, Old: 50_000, Saving: 50_000, Why: "no pods need it"},
		{Cause: disrupt.Empty, Nodes: []string{"node-e"}, Old: 50_000, Saving: 50_000, Why: "it waits"},
	}}
	d := record.OnDisruption("v1", p, "", nil, decided, decided.Moves[:3], nil)
	var got []string
	for _, m := range together(d) {
		got = append(got, moveText(d, &m))
	}
	if diff := cmp.Diff([]string{
		"Empty: a (m5.large), d (m5.large) go; saves $0.1500 of $0.1500/h; why: no pods need them",
		"Underutilized: b (m5.large), c (m5.large) go; 2 pods to instances that are there; a new c5.large spot at $0.0500/h for 4 pods; saves $0.1500 of $0.2000/h; why: it is cheaper",
	}, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"node-a"}, decided.Moves[0].Nodes); diff != "" {
		t.Errorf("the decision was changed:\n%s", diff)
	}
}
