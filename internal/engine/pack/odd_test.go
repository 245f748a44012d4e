package pack_test

import (
	"testing"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/engine/verify"
)

// Whatever a caller leaves out or says twice, an answer comes, and the judge can read it.
func TestOddInputIsNoPanic(t *testing.T) {
	class := func(change func(*cluster.Class)) *cluster.Class {
		c := &cluster.Class{Namespace: "ns", Requests: res.List{res.CPU: 100, res.Pods: 1}}
		change(c)
		c.ID = c.Hash()
		return c
	}
	plain := class(func(*cluster.Class) {})
	pod := func(c *cluster.Class) *cluster.Pod {
		return &cluster.Pod{PodRef: cluster.PodRef{Namespace: "ns", Name: "p"}, Class: c}
	}
	node := func(change func(*cluster.Node)) *cluster.Node {
		n := &cluster.Node{Name: "n1", Initialized: true, Allocatable: res.List{res.CPU: 4000, res.Pods: 10}}
		change(n)
		return n
	}
	bare := node(func(*cluster.Node) {})
	unread := []*cluster.Pod{{PodRef: cluster.PodRef{Namespace: "ns", Name: "x"}}}
	for name, p := range map[string]*pack.Problem{
		"a running pod without a class, use not counted": {Nodes: []*cluster.Node{node(func(n *cluster.Node) { n.Pods = unread })}, Pending: []*cluster.Pod{pod(plain)}},
		"a running pod without a class": {Nodes: []*cluster.Node{node(func(n *cluster.Node) { n.Pods, n.Used = unread, res.List{} })},
			Pending: []*cluster.Pod{pod(plain)}},
		"a node twice":                {Nodes: []*cluster.Node{bare, bare}, Pending: []*cluster.Pod{pod(plain)}},
		"a pod twice":                 {Nodes: []*cluster.Node{bare}, Pending: []*cluster.Pod{pod(plain), pod(plain)}},
		"a name twice":                {Nodes: []*cluster.Node{bare, node(func(*cluster.Node) {})}, Pending: []*cluster.Pod{pod(plain)}},
		"a waiting pod without class": {Nodes: []*cluster.Node{bare}, Pending: []*cluster.Pod{{}}},
		"a request below zero":        {Nodes: []*cluster.Node{bare}, Pending: []*cluster.Pod{pod(class(func(c *cluster.Class) { c.Requests[res.CPU] = -100 }))}},
		"no requests, pools of one name": {Nodes: []*cluster.Node{bare}, Pools: []*cluster.Pool{{Name: "a"}, {Name: "a"}},
			Pending: []*cluster.Pod{pod(class(func(c *cluster.Class) { c.Requests = nil }))}},
		"no selectors, no keys": {Nodes: []*cluster.Node{bare}, Pending: []*cluster.Pod{pod(class(func(c *cluster.Class) {
			c.Spreads = []cluster.Spread{{Key: requirement.Zone, MaxSkew: 1}, {MaxSkew: 1}, {Key: requirement.Hostname, MaxSkew: 1}}
			c.PodAffinity, c.AntiAffinity = []cluster.PodAffinity{{Key: requirement.Hostname}}, []cluster.PodAffinity{{}}
		}))}},
	} {
		t.Run(name, func(t *testing.T) {
			e := pack.NewEngine()
			verify.Check(p, e.Solve(p))
			next := *p
			next.Generation++
			if a, b := bytesOf(t, e.Solve(&next)), bytesOf(t, pack.Solve(&next)); a != b {
				t.Errorf("the engine says\n%s\nSolve\n%s", a, b)
			}
		})
	}
}

// The engine keeps what it knows of a node's labels, and the name is one that a new node has from the day it joins.
func TestANodeThatJoinsHasItsName(t *testing.T) {
	c := &cluster.Class{Namespace: "ns", Requests: res.List{res.CPU: 100, res.Pods: 1}, Affinity: [][]requirement.Term{{in(requirement.NodeName, "n1")}}}
	c.ID = c.Hash()
	arriving := &cluster.Node{Name: "n1", Claim: "c1", Launched: true, Labels: map[string]string{requirement.Hostname: "n1"}, Allocatable: res.List{res.CPU: 4000, res.Pods: 10}}
	before := &pack.Problem{Nodes: []*cluster.Node{arriving}, Pending: []*cluster.Pod{{PodRef: cluster.PodRef{Namespace: "ns", Name: "p"}, Class: c}}}
	e := pack.NewEngine()
	if out := e.Solve(before); len(out.Placements) > 0 {
		t.Fatal("placed on an instance whose name is not known")
	}
	joined, after := *arriving, *before
	joined.Registered, joined.Initialized = true, true
	after.Nodes = []*cluster.Node{&joined}
	if out := e.Solve(&after); len(out.Placements) != 1 {
		t.Errorf("not placed on the node of that name: %s", bytesOf(t, out))
	}
}
