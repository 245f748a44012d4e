package scenario

import (
	"fmt"
	"slices"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// Steady is a cluster that runs, of which a little changes from one decision to the next. What does not change keeps its
// pointer, as in the snapshots of a running controller; pools are made anew for each problem, as they are there.
type Steady struct {
	w       *workload
	classes []*cluster.Class
	turn    int
}

// NewSteady is a cluster with so many nodes of 15 pods each, and so many pending pods. Running and pending pods are of
// the same classes, some of which spread over zones or hosts, or keep apart.
func NewSteady(nodes, pending, classes, pools int, seed uint64) (*Steady, error) {
	types, err := RegionTypes("us-east-1", 3)
	if err != nil {
		return nil, err
	}
	w := newWorkload(seed)
	w.teamPools(types, pools)
	s := &Steady{w: w}
	for i := range classes {
		s.classes = append(s.classes, w.steadyClass(i))
	}
	for i := range nodes {
		w.Nodes = append(w.Nodes, s.node(i))
	}
	for i := range pending {
		w.pods(s.classes[i%classes], 1)
	}
	return s, nil
}

func (w *workload) steadyClass(i int) *cluster.Class {
	c := w.app(i)
	switch i % 10 {
	case 0:
		c.Selector = []requirement.Term{one("team", fmt.Sprintf("team-%d", i%10))}
	case 1:
		c.Spreads = []cluster.Spread{{Key: requirement.Zone, MaxSkew: 5, Selector: own(c)}}
	case 2:
		c.Selector = []requirement.Term{one(requirement.CapacityType, catalog.OnDemand)}
	case 3:
		c.Spreads = []cluster.Spread{{Key: requirement.Hostname, MaxSkew: 5, Selector: own(c)}}
	case 4:
		c.AntiAffinity = []cluster.PodAffinity{{Key: requirement.Hostname, Selector: own(c), Namespaces: []string{c.Namespace}}}
	}
	c.ID = c.Hash()
	return c
}

func (s *Steady) node(i int) *cluster.Node {
	zone, pool := []string{"us-east-1a", "us-east-1b", "us-east-1c"}[i%3], fmt.Sprintf("pool-%02d", i%len(s.w.Pools))
	name := fmt.Sprintf("node-%05d", i)
	n := &cluster.Node{Name: name, Claim: name, Pool: pool, ProviderID: name, Zone: zone, InstanceType: "m7i.4xlarge",
		CapacityType: catalog.OnDemand, Launched: true, Registered: true, Initialized: true, Ready: true, Price: 806_400,
		Allocatable: res.List{res.CPU: 15890, res.Memory: 57 << 30, res.Pods: 234}, Used: res.List{},
		Labels: map[string]string{requirement.Zone: zone, requirement.Arch: "amd64", requirement.OS: "linux", requirement.Hostname: name,
			requirement.CapacityType: catalog.OnDemand, requirement.InstanceType: "m7i.4xlarge", requirement.NodePool: pool,
			"team": fmt.Sprintf("team-%d", i%10), categoryKey: "m", familyKey: "m7i"}}
	for len(n.Pods) < 15 {
		s.w.n++
		s.run(n)
	}
	return n
}

// run puts a pod of some class on the node; one without much demand if what comes first does not fit.
func (s *Steady) run(n *cluster.Node) {
	c := s.classes[s.w.rng.IntN(len(s.classes))]
	left := res.List{}
	for k, x := range n.Allocatable {
		left[k] = x - n.Used[k] - c.Requests[k]
	}
	if left[res.CPU] < 0 || left[res.Memory] < 0 {
		c = s.smallest()
	}
	s.w.n++
	ref := cluster.PodRef{Namespace: c.Namespace, Name: fmt.Sprintf("%s-%d", c.Labels["app"], s.w.n), UID: fmt.Sprintf("uid-%d", s.w.n)}
	n.Pods = append(n.Pods, &cluster.Pod{PodRef: ref, Class: c, Node: n.Name, CreatedAt: Start.Add(-time.Hour)})
	n.Used.Add(c.Requests)
}

func (s *Steady) smallest() *cluster.Class {
	return slices.MinFunc(s.classes, func(a, b *cluster.Class) int { return int(a.Requests[res.CPU] - b.Requests[res.CPU]) })
}

// Problem is the cluster as it is now.
func (s *Steady) Problem() *pack.Problem {
	p := s.w.Problem
	s.turn++
	p.Generation, p.Now = uint64(s.turn), Start.Add(time.Duration(s.turn)*time.Second)
	p.Nodes, p.Pending, p.Pools = slices.Clone(p.Nodes), slices.Clone(p.Pending), nil
	for _, src := range s.w.Pools {
		pool := *src
		p.Pools = append(p.Pools, &pool)
	}
	return &p
}

// ChangePods lets n of the pending pods go and as many come, of the same classes in turn.
func (s *Steady) ChangePods(n int) {
	n = min(n, len(s.w.Pending))
	old := s.w.Pending[:n]
	s.w.Pending = slices.Clone(s.w.Pending[n:])
	for _, pod := range old {
		s.w.pods(pod.Class, 1)
	}
}

// ChangeNodes lets on n of the nodes a pod end and another begin.
func (s *Steady) ChangeNodes(n int) {
	for range n {
		at := s.w.rng.IntN(len(s.w.Nodes))
		with := *s.w.Nodes[at]
		with.Used = res.List{}
		with.Pods = slices.Clone(with.Pods[1:])
		for _, pod := range with.Pods {
			with.Used.Add(pod.Class.Requests)
		}
		s.run(&with)
		s.w.Nodes[at] = &with
	}
}
