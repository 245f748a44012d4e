package simcluster_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
	"github.com/kerf-sh/kerf/internal/sim/simcluster"
)

// Instances whose nodes never come, because of user data, security groups or access, are given up after a quarter of an hour. All that pods ask
// for must not be launched again then: one instance tells whether it is fixed.
func TestInstancesThatNeverJoinAreTriedOneByOne(t *testing.T) {
	const nodes = 8
	for name, deploy := range map[string]func(h *simcluster.Cluster){
		"pods": func(h *simcluster.Cluster) {
			h.Apply(simcluster.Defaults)
			deployApart(h, "web", nodes)
		},
		"static": func(h *simcluster.Cluster) {
			h.Apply(strings.Replace(simcluster.Defaults, "spec:\n  template:", fmt.Sprintf("spec:\n  replicas: %d\n  template:", nodes), 1))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			simcluster.Run(t, simcluster.Options{Env: map[string]string{"FEATURE_GATES": "StaticCapacity=true"}}, func(h *simcluster.Cluster) {
				wrong := h.AWS.World.AddFault(world.Fault{Kind: world.FaultWrongCluster})
				deploy(h)
				h.Pass(70 * time.Minute)
				if launched := len(h.AWS.World.Instances()); launched > nodes+5 { // one more where the end of a claim is seen before the condition of its pool
					h.T.Errorf("%d instances were launched for %d nodes in 70 minutes, want %d and one for each quarter of an hour after the first", launched, nodes, nodes)
				}
				h.AWS.World.RemoveFault(wrong)
				h.Eventually(20*time.Minute, "all nodes are there", func() (bool, string) { n := len(h.Nodes()); return n == nodes, fmt.Sprint(n) })
			})
		})
	}
}

// TestInstancesOfAClassThatWasFixedBlameNobody: those of the old one run into the registration timeout after the new ones have become nodes,
// and what waited for them comes at once.
func TestInstancesOfAClassThatWasFixedBlameNobody(t *testing.T) {
	const nodes = 8
	simcluster.Run(t, simcluster.Options{}, func(h *simcluster.Cluster) {
		wrong := h.AWS.World.AddFault(world.Fault{Kind: world.FaultWrongCluster})
		h.Apply(simcluster.Defaults)
		deployApart(h, "web", nodes)
		h.Pass(10 * time.Minute)
		h.AWS.World.RemoveFault(wrong)
		h.Apply(strings.Replace(simcluster.Defaults, "  role:", "  userData: \"#!/bin/sh\"\n  role:", 1))
		h.Pass(10 * time.Second)
		deployApart(h, "more", 2)
		h.Running(3*time.Minute, "more", 2)
		for range 12 {
			h.Pass(30 * time.Second)
			pool := &karpv1.NodePool{}
			if err := h.Client.Get(h.T.Context(), client.ObjectKey{Name: "default"}, pool); err != nil {
				h.T.Fatal(err)
			}
			if c := pool.StatusConditions().Get(karpv1.ConditionTypeNodeRegistrationHealthy); !c.IsTrue() {
				h.T.Fatalf("with two new nodes and %d old claims: %s %s %s", len(h.Claims())-2, c.Status, c.Reason, c.Message)
			}
		}
		h.Running(time.Minute, "web", nodes)
	})
}
