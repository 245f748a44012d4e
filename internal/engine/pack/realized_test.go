package pack_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/engine/verify"
)

// launchedAs are the nodes that a new node of a drawn problem may become: one for each type and offering that it leaves.
func launchedAs(p *pack.Problem, m *plan.NewNode, name string) []*cluster.Node {
	pool := p.Pools[slices.IndexFunc(p.Pools, func(x *cluster.Pool) bool { return x.Name == m.Pool })]
	var out []*cluster.Node
	for _, choice := range m.Types {
		t := pool.TypeNamed(choice.Name)
		for _, o := range t.Offerings {
			if !o.Available {
				continue
			}
			labels := map[string]string{requirement.Zone: o.Zone, requirement.CapacityType: o.CapacityType, requirement.NodePool: pool.Name, requirement.Hostname: name}
			for _, term := range t.Requirements {
				if len(term.Values) == 1 {
					labels[term.Key] = term.Values[0]
				}
			}
			if o.ReservationID != "" {
				labels[requirement.ReservationID] = o.ReservationID
			}
			possible := true
			for _, term := range m.Requirements {
				value, has := labels[term.Key]
				if !has && term.Operator == requirement.In && !slices.Contains(p.Options.WellKnown, term.Key) {
					value, has = slices.Min(term.Values), true
					labels[term.Key] = value
				}
				switch term.Operator {
				case requirement.In:
					possible = possible && has && slices.Contains(term.Values, value)
				case requirement.NotIn:
					possible = possible && !slices.Contains(term.Values, value)
				case requirement.Exists:
					possible = possible && has
				case requirement.DoesNotExist:
					possible = possible && !has
				}
			}
			if possible {
				out = append(out, &cluster.Node{Name: name, Launched: true, Registered: true, Initialized: true, Ready: true, Labels: labels, Zone: o.Zone, CapacityType: o.CapacityType,
					InstanceType: t.Name, Pool: pool.Name, Taints: pool.Taints, Allocatable: t.Allocatable(), AttachLimits: t.AttachLimits, Used: res.List{}})
			}
		}
	}
	return out
}

// Whatever each new node becomes of what it may, the pods can be bound as planned.
func TestPlansHoldWhateverIsLaunched(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t, true)
		out := pack.Solve(p)
		for seed := range uint64(3) {
			rng := rand.New(rand.NewPCG(seed, 1))
			then, done := *p, *out
			then.Nodes, done.Placements = slices.Clone(p.Nodes), slices.Clone(out.Placements)
			done.NewNodes, done.Price = nil, 0
			for i := range out.NewNodes {
				name := fmt.Sprintf("launched-%d", i+1)
				nodes := launchedAs(p, &out.NewNodes[i], name)
				if len(nodes) == 0 {
					t.Fatalf("there is no way to launch new node %d\n%s", i+1, out)
				}
				then.Nodes = append(then.Nodes, nodes[rng.IntN(len(nodes))])
				done.Placements = append(done.Placements, plan.Placement{Node: name, Pods: out.NewNodes[i].Pods})
			}
			for _, v := range verify.Check(&then, &done) {
				t.Fatalf("%s\n%s", v, out)
			}
		}
	})
}
