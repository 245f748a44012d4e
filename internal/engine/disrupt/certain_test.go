package disrupt_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/engine/verify"
	"github.com/kerf-sh/kerf/internal/sim/scenario"
)

type way struct {
	zone, capacityType string
	price              catalog.MicroUSD
}

func typeOf(name string, cpu int64, ways ...way) *catalog.Type {
	t := &catalog.Type{Name: name, Capacity: res.List{res.CPU: cpu * 1000, res.Memory: cpu << 31, res.Pods: 50},
		Requirements: []requirement.Term{in(requirement.InstanceType, name), in(requirement.Zone, "a", "b"),
			in(requirement.CapacityType, catalog.OnDemand, catalog.Spot)}}
	for _, w := range ways {
		t.Offerings = append(t.Offerings, catalog.Offering{Zone: w.zone, CapacityType: w.capacityType, Price: w.price, Available: true})
	}
	return t
}

// partitioned is the type with its offerings in the partitions of a placement group, in order from 1.
func partitioned(t *catalog.Type) *catalog.Type {
	for i := range t.Offerings {
		t.Offerings[i].Partition = int32(i) + 1
	}
	return t
}

// lone is a cluster of one node on demand at $0.20 that carries one pod of 1 cpu.
func lone(types ...*catalog.Type) *disrupt.Problem {
	pod := &cluster.Pod{PodRef: cluster.PodRef{Namespace: "ns", Name: "pod"}, Node: "old",
		Class: &cluster.Class{ID: "class", Namespace: "ns", Requests: res.List{res.CPU: 1000, res.Pods: 1}}}
	n := &cluster.Node{Name: "old", Claim: "old", Pool: "default", Zone: "a", CapacityType: catalog.OnDemand, InstanceType: "old", Price: 200_000,
		Initialized: true, Allocatable: res.List{res.CPU: 4000, res.Memory: 8 << 30, res.Pods: 50}, Pods: []*cluster.Pod{pod}}
	return anyway(&pack.Problem{Nodes: []*cluster.Node{n}, Pools: []*cluster.Pool{{Name: "default", Types: types}},
		Options: pack.Options{WellKnown: scenario.WellKnown()}})
}

func TestSavingsAreMadeCertain(t *testing.T) {
	type outcome struct {
		Types              []string
		Zone, CapacityType []string
		Partition          []string
		Saving, Certain    catalog.MicroUSD
		KeptBecause        disrupt.Code
	}
	const od, spot = catalog.OnDemand, catalog.Spot
	cases := map[string]struct {
		p    *disrupt.Problem
		want outcome
	}{
		"a type that is cheaper in one zone only is launched in that zone": {
			lone(typeOf("new", 2, way{"a", od, 250_000}, way{"b", od, 150_000})),
			outcome{Types: []string{"new"}, Zone: []string{"b"}, CapacityType: []string{od}, Saving: 50_000, Certain: 50_000}},
		"spot is not left to end in something dearer on demand": {
			lone(typeOf("new", 2, way{"a", od, 150_000}, way{"a", spot, 50_000})),
			outcome{Types: []string{"new"}, CapacityType: []string{spot}, Saving: 150_000, Certain: 150_000}},
		"half of what the cheapest type saves is given away for more types, and no more": {
			lone(typeOf("new-1", 2, way{"a", od, 100_000}), typeOf("new-2", 2, way{"a", od, 150_000}), typeOf("new-3", 2, way{"a", od, 151_000})),
			outcome{Types: []string{"new-1", "new-2"}, CapacityType: []string{od}, Saving: 100_000, Certain: 50_000}},
		"an instance at the same price is not launched": {
			lone(typeOf("new", 2, way{"a", od, 200_000})),
			outcome{KeptBecause: disrupt.NotCheaper}},
		"a type that is dearer in one partition of a placement group, by an overlay, is launched in the other": {
			lone(partitioned(typeOf("new", 2, way{"a", od, 190_000}, way{"a", od, 100_000}))),
			outcome{Types: []string{"new"}, Zone: []string{"a"}, CapacityType: []string{od}, Partition: []string{"2"}, Saving: 100_000, Certain: 100_000}},
		"an instance that is too small is not launched": {
			lone(typeOf("new", 0, way{"a", od, 10_000})),
			outcome{KeptBecause: disrupt.PodHasNoPlace}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := disrupt.Decide(tc.p)
			for _, v := range verify.Moves(tc.p, d) {
				t.Error(v)
			}
			var got outcome
			for _, k := range d.Kept {
				got.KeptBecause = k.Reasons[0].Code
			}
			for _, m := range d.Moves {
				got.Saving, got.Certain = m.Saving, m.Certain
				for _, c := range m.NewNodes[0].Types {
					got.Types = append(got.Types, c.Name)
				}
				for _, r := range m.NewNodes[0].Requirements {
					switch r.Key {
					case requirement.Zone:
						got.Zone = r.Values
					case requirement.CapacityType:
						got.CapacityType = r.Values
					case requirement.PlacementPartition:
						got.Partition = r.Values
					}
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s%s", diff, d)
			}
		})
	}
}

func TestNothingToDecideIsNotAnError(t *testing.T) {
	for name, p := range map[string]*disrupt.Problem{
		"no problem":          nil,
		"no cluster":          {},
		"no nodes":            {Cluster: &pack.Problem{}},
		"a node that is gone": {Cluster: &pack.Problem{}, Nodes: []disrupt.Node{{Name: "gone"}}},
		"a pool that is gone": {Cluster: lone().Cluster, Nodes: []disrupt.Node{{Name: "old"}}},
		"a pod without class": {Cluster: &pack.Problem{Nodes: []*cluster.Node{{Name: "n", Used: res.List{}, Pods: []*cluster.Pod{{}}}}},
			Nodes: []disrupt.Node{{Name: "n"}}},
	} {
		t.Run(name, func(t *testing.T) {
			if d := disrupt.Decide(p); len(d.Moves) > 0 {
				t.Errorf("moves out of nothing:\n%s", d)
			}
		})
	}
}
