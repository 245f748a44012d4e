package landing_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-sh/kerf/internal/cluster"
	"github.com/kerf-sh/kerf/internal/landing"
	"github.com/kerf-sh/kerf/internal/requirement"
	"github.com/kerf-sh/kerf/internal/res"
)

func class(app string, cpu int64, change func(*cluster.Class)) *cluster.Class {
	c := &cluster.Class{Namespace: "ns", Labels: map[string]string{"app": app}, Requests: res.List{res.CPU: cpu, res.Memory: cpu << 20, res.Pods: 1}}
	if change != nil {
		change(c)
	}
	c.ID = c.Hash()
	return c
}

func node(name, zone string, pods ...*cluster.Class) *cluster.Node {
	n := &cluster.Node{Name: name, Initialized: true, Allocatable: res.List{res.CPU: 4000, res.Memory: 4000 << 20, res.Pods: 10}, Used: res.List{},
		Labels: map[string]string{requirement.Zone: zone}}
	for i, c := range pods {
		n.Pods = append(n.Pods, &cluster.Pod{PodRef: cluster.PodRef{Namespace: "ns", Name: fmt.Sprintf("%s-%d", name, i)}, Class: c, Node: name})
		n.Used.Add(c.Requests)
	}
	return n
}

func own(app string) *cluster.Selector {
	return &cluster.Selector{Terms: []requirement.Term{{Key: "app", Operator: requirement.In, Values: []string{app}}}}
}

func TestWhoFindsNoPlace(t *testing.T) {
	small, large := class("small", 500, nil), class("large", 3000, nil)
	apart := class("apart", 100, func(c *cluster.Class) {
		c.AntiAffinity = []cluster.PodAffinity{{Key: requirement.Hostname, Selector: own("apart")}}
	})
	even := class("even", 100, func(c *cluster.Class) {
		c.Spreads = []cluster.Spread{{Key: requirement.Zone, MaxSkew: 1, Selector: own("even")}}
	})
	with := class("with", 100, func(c *cluster.Class) {
		c.PodAffinity = []cluster.PodAffinity{{Key: requirement.Zone, Selector: own("small")}}
	})
	port := class("port", 100, func(c *cluster.Class) { c.HostPorts = []cluster.HostPort{{Port: 80}} })
	tainted := node("t", "a")
	tainted.Taints = []cluster.Taint{{Key: "x", Effect: cluster.NoSchedule}}
	for name, tc := range map[string]struct {
		nodes  []*cluster.Node
		coming []*cluster.Node
		order  landing.Order
		want   []string
	}{
		"a large pod that comes first has room": {
			[]*cluster.Node{node("a", "a"), node("b", "b"), node("gone", "a", small, small, small, small, large)}, nil, landing.LargestFirst, nil},
		"a large pod that comes when small ones are everywhere has none": {
			[]*cluster.Node{node("a", "a"), node("b", "b"), node("gone", "a", small, small, small, small, small, small, large)}, nil, landing.LargestLast, []string{"gone-6"}},
		"a machine that comes has room for it": {
			[]*cluster.Node{node("a", "a"), node("b", "b"), node("gone", "a", small, small, small, small, small, small, large)}, []*cluster.Node{node("new", "a")}, landing.LargestLast, nil},
		"pods that must be apart need a node each": {
			[]*cluster.Node{node("a", "a", apart), node("b", "b"), node("gone", "a", apart, apart)}, nil, landing.StepByStep, []string{"gone-1"}},
		"a spread holds a pod back whose zone has no room": {
			[]*cluster.Node{node("a", "a", even, even), node("b", "b", large, class("rest", 1000, nil), even), node("gone", "b", even, even)}, nil, landing.StepByStep, []string{"gone-0", "gone-1"}},
		"a pod waits for the one that it must be with": {
			[]*cluster.Node{node("a", "a"), node("gone", "b", with, small)}, nil, landing.LargestLast, nil},
		"a port is taken once": {
			[]*cluster.Node{node("a", "a", port), node("gone", "b", port)}, nil, landing.StepByStep, []string{"gone-0"}},
		"a taint keeps pods off": {
			[]*cluster.Node{tainted, node("gone", "b", small)}, nil, landing.StepByStep, []string{"gone-0"}},
	} {
		t.Run(name, func(t *testing.T) {
			step := landing.Step{Away: []string{"gone"}}
			for i := range tc.coming {
				step.Comes = append(step.Comes, i)
			}
			var got []string
			for _, x := range landing.NewBoard(tc.nodes, tc.coming, nil).Land([]landing.Step{step}, tc.order) {
				got = append(got, x.Pod.Name)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
