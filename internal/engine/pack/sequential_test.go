package pack_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/sim/scenario"
)

// sequential is pods of one class that have to be placed one after the other.
func sequential(tb testing.TB, nodes, pods int, shape string) *pack.Problem {
	p := must(tb)(scenario.Large(100, 1, nodes, 1, 1))
	sel := &cluster.Selector{Terms: []requirement.Term{in("app", "s")}}
	c := &cluster.Class{Namespace: "default", Labels: map[string]string{"app": "s"}, Requests: res.List{"cpu": 100, "memory": 100 << 20, "pods": 1}}
	spread := func(key string, skew int) {
		c.Spreads = append(c.Spreads, cluster.Spread{Key: key, MaxSkew: skew, Selector: sel})
	}
	switch shape {
	case "two":
		spread(requirement.Zone, 1)
		spread(requirement.CapacityType, 1)
	case "three":
		spread(requirement.Zone, 1)
		spread(requirement.CapacityType, 1)
		spread(requirement.Hostname, 1)
	case "racks":
		for i, n := range p.Nodes {
			n.Labels["rack"] = fmt.Sprintf("rack-%03d", i%200)
		}
		spread(requirement.Zone, 1)
		spread("rack", 1)
	case "types":
		for _, key := range []string{requirement.Zone, requirement.InstanceType, "karpenter.k8s.aws/instance-family", "karpenter.k8s.aws/instance-cpu"} {
			spread(key, pods)
		}
	case "apart":
		c.AntiAffinity = []cluster.PodAffinity{{Key: requirement.Hostname, Namespaces: []string{"default"}, Selector: sel}}
		spread(requirement.Zone, 1)
		spread(requirement.CapacityType, 1)
	}
	c.ID = c.Hash()
	first := p.Pending[0]
	p.Pending = nil
	for i := range pods {
		pod := *first
		pod.Class, pod.Name = c, fmt.Sprintf("s-%05d", i)
		pod.UID = pod.Name
		p.Pending = append(p.Pending, &pod)
	}
	return p
}

var sequentialShapes = []string{"two", "three", "racks", "apart"}

// What a pod costs that is placed by itself must not grow with the cluster: which domains there are, and which nodes are in
// them, is worked out once. Looking at all nodes for each pod and key would be two million here and more.
func TestPodsThatArePlacedOneByOneDoNotLookAtAllNodes(t *testing.T) {
	const nodes, pods = 1000, 1000
	for _, shape := range sequentialShapes {
		if got, most := pack.Visited(sequential(t, nodes, pods, shape)), 8*nodes+50*pods; got > most {
			t.Errorf("%s: %d looks at a node for %d pods and %d nodes; at most %d", shape, got, pods, nodes, most)
		}
	}
}

// One pod with more choices of domains than anybody can try must not hold up the others; where it only prefers to be spread so, it is
// placed without.
func TestPodsThatSpreadOverTooManyKeysHoldUpNothing(t *testing.T) {
	for name, tt := range map[string]struct {
		soft   bool
		placed int
	}{
		"must":   {false, 1},
		"prefer": {true, 4},
	} {
		t.Run(name, func(t *testing.T) {
			p := sequential(t, 50, 3, "types")
			other := *p.Pending[0]
			class := *other.Class
			class.Spreads = nil // but those of the others count it
			class.ID = class.Hash()
			other.Class, other.Name, other.UID = &class, "other", "other"
			if tt.soft {
				preferring := *p.Pending[0].Class
				preferring.Spreads = slices.Clone(preferring.Spreads)
				for i := range preferring.Spreads {
					preferring.Spreads[i].Soft = true
				}
				preferring.ID = preferring.Hash()
				for _, pod := range p.Pending {
					pod.Class = &preferring
				}
			}
			p.Pending = append(p.Pending, &other)
			out, placed := pack.Solve(p), 0
			for i := range out.NewNodes {
				placed += len(out.NewNodes[i].Pods)
			}
			for i := range out.Placements {
				placed += len(out.Placements[i].Pods)
			}
			if placed != tt.placed {
				t.Errorf("%d pods are placed, want %d: %v", placed, tt.placed, out.Unplaced)
			}
			for _, u := range out.Unplaced {
				if len(u.Reasons) != 1 || !strings.Contains(u.Reasons[0].Text(), "choices of karpenter.k8s.aws/instance-cpu, karpenter.k8s.aws/instance-family") {
					t.Errorf("reasons are %v", u.Reasons)
				}
			}
		})
	}
}

func BenchmarkSequential(b *testing.B) {
	for _, shape := range sequentialShapes {
		for _, n := range []int{1000, 2000} {
			for _, pods := range []int{500, 1000} {
				b.Run(fmt.Sprintf("%s/nodes=%d/pods=%d", shape, n, pods), func(b *testing.B) {
					p := sequential(b, n, pods, shape)
					p.Options.Work = -1
					b.ReportAllocs()
					for b.Loop() {
						pack.Solve(p)
					}
				})
			}
		}
	}
}
