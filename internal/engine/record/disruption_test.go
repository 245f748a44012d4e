package record_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/record"
	"github.com/kerf-sh/kerf/internal/sim/scenario"
)

// half is a cluster of which much has gone, and what is asked of it.
func half(t *testing.T) *disrupt.Problem {
	t.Helper()
	c, err := scenario.Fragmented(scenario.Fragmentation{Nodes: 12, Pods: 10, Percent: 30, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	p := &disrupt.Problem{Cluster: c, Options: disrupt.Options{SpotToSpot: true, PodPrice: 10}, DeletionCosts: map[string]int32{"a/b": 3}}
	for _, n := range c.Nodes {
		p.Nodes = append(p.Nodes, disrupt.Node{Name: n.Name})
	}
	p.Nodes[0].Blocks = []disrupt.Reason{{Code: disrupt.DoNotDisrupt, Pod: "a/b"}}
	for _, pool := range c.Pools {
		p.Pools = append(p.Pools, disrupt.Pool{Name: pool.Name, Policy: disrupt.WhenEmptyOrUnderutilized, Allowed: map[disrupt.Cause]int{disrupt.Drifted: 2}})
	}
	return p
}

func TestADecisionOnDisruptionIsMadeAgainToTheSameBytes(t *testing.T) {
	p := half(t)
	due := []string{p.Nodes[3].Name, p.Nodes[0].Name, p.Nodes[1].Name, p.Nodes[2].Name}
	decided, rolled := disrupt.Decide(p), disrupt.Replace(p, disrupt.Drifted, due)
	for name, d := range map[string]*record.Decision{
		"which nodes may go":     record.OnDisruption("v1", p, "", nil, decided, decided.Moves[:1], []string{"00000000000000aa"}),
		"where pods of nodes go": record.OnDisruption("v1", p, disrupt.Drifted, due, rolled, rolled.Moves, nil),
	} {
		t.Run(name, func(t *testing.T) {
			if len(d.Disruption.Moves) == 0 || len(d.Asked.Begun) == 0 {
				t.Fatalf("nothing moves: %s", d.Disruption)
			}
			got, err := record.Read(bytes.NewReader(written(t, d)))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(d, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("changed on the way:\n%s", diff)
			}
			again, err := record.ReplayDisruption(got)
			if err != nil {
				t.Fatal(err)
			}
			if !record.SameDisruption(d.Disruption, again) {
				t.Errorf("replayed, it is another one:\n%s", cmp.Diff(d.Disruption, again))
			}
			if hashed := record.HashNames(got); hashed.Asked != nil || hashed.Disruption != nil {
				t.Error("names are left in what was asked")
			}
			got.Asked.Nodes = append(got.Asked.Nodes[:3:3], disrupt.Node{Name: got.Asked.Nodes[3].Name, Blocks: []disrupt.Reason{{Code: disrupt.NotReady}}})
			if other, err := record.ReplayDisruption(got); err != nil || record.SameDisruption(d.Disruption, other) {
				t.Errorf("asked something else, the answer is the same; %v", err)
			}
		})
	}
}
