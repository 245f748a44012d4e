package pack_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/sim/scenario"
)

// A pool has room for one new node at a time. Pods that are young and harder to place keep coming; the new node is free again
// after each round. Whoever can be placed at all is placed within a bounded number of rounds.
func TestNoClassStarvesAnother(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		waiting := drawClass(t, false)
		waiting.Selector, waiting.Affinity, waiting.Volumes, waiting.Requests = nil, nil, nil, res.List{res.CPU: 100, res.Pods: 1}
		waiting.Attach, waiting.Shared, waiting.Priority = nil, nil, 0
		waiting.ID = waiting.Hash()
		start := time.Unix(1_000_000, 0)
		patient := &cluster.Pod{PodRef: cluster.PodRef{Namespace: "ns", Name: "patient", UID: "patient"}, Class: waiting, CreatedAt: start}
		ty := &catalog.Type{Name: "one", Capacity: res.List{res.CPU: 4000, res.Memory: 64 << 30, res.Pods: 1},
			Offerings: []catalog.Offering{{Zone: "a", CapacityType: catalog.OnDemand, Price: 1, Available: true}}}
		ty.Requirements = []requirement.Term{in(requirement.Arch, "amd64"), in(requirement.InstanceType, "one"), in(requirement.Zone, "a"),
			in(requirement.CapacityType, catalog.OnDemand)}
		for round := range 40 {
			now := start.Add(time.Duration(round) * 5 * time.Minute)
			p := &pack.Problem{Now: now, Options: pack.Options{WellKnown: scenario.WellKnown()}, Pending: []*cluster.Pod{patient},
				Pools: []*cluster.Pool{{Name: "p", Types: []*catalog.Type{ty}, Limits: res.List{res.Nodes: 1}}}}
			for i := range rapid.IntRange(1, 3).Draw(t, "young") {
				c := drawClass(t, true)
				c.Priority = 0
				c.ID = c.Hash()
				name := fmt.Sprintf("young-%d-%d", round, i)
				p.Pending = append(p.Pending, &cluster.Pod{PodRef: cluster.PodRef{Namespace: "ns", Name: name, UID: name}, Class: c,
					CreatedAt: now.Add(-time.Duration(rapid.IntRange(0, 300).Draw(t, "age")) * time.Second)})
			}
			if placedPods(pack.Solve(p))[patient.PodRef] {
				return
			}
		}
		t.Fatal("the pod that waited was never placed")
	})
}
