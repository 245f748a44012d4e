package disrupt

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
)

// unit is the disruption of a usual pod, or of a node by itself.
const unit = 1_000_000

// search is one way through the nodes.
type search struct {
	p     *Problem
	w     *pack.WhatIf
	nodes []*nodeState // by number in w; nil for nodes that are not managed
	named map[string]*nodeState
	pools map[string]*poolState
	moves []Move
	stats Stats
	limit int64
	// worked is what was worked before the search began.
	worked    int64
	spotMoved func() bool // spotPricesMoved, found once
	next      int         // where the next decision begins, see Decision.Next
	scores    []Score
}

// nodeState is a managed node in the course of a search.
type nodeState struct {
	id    int
	src   *cluster.Node
	in    *Node
	pool  *poolState
	price catalog.MicroUSD // its upkeep included; 0: not known
	// cost is the disruption of letting the node go; empty says that it holds no pods that would need another place.
	cost  int64
	empty bool
	// floor is the least that new nodes for its pods cost; potential the least for all its room.
	floor, potential catalog.MicroUSD

	gone   bool
	due    bool // it has to be replaced, see Replace
	target bool // pods were moved to it
	// blocks are why it is no candidate, reason and saves what was found when it was tried.
	blocks  []Reason
	reason  Reason
	saves   catalog.MicroUSD
	tried   bool
	movable bool
	// broken says that a question about the node could not be answered.
	broken bool
	kind   string // see kindOf
}

type poolState struct {
	Pool
	price catalog.MicroUSD
	cost  int64
}

func newSearch(p *Problem, w *pack.WhatIf) *search {
	s := &search{p: p, w: w, worked: w.Work(), named: map[string]*nodeState{}, pools: map[string]*poolState{}, limit: p.Options.work()}
	s.spotMoved = sync.OnceValue(func() bool { return spotPricesMoved(p.Cluster) })
	for _, pool := range p.Pools {
		pool.Allowed = maps.Clone(pool.Allowed)
		s.pools[pool.Name] = &poolState{Pool: pool}
	}
	given := map[string]*Node{}
	for i := range p.Nodes {
		given[p.Nodes[i].Name] = &p.Nodes[i]
	}
	s.nodes = make([]*nodeState, s.w.Len())
	for id := range s.nodes {
		src := s.w.Node(id)
		in := given[src.Name]
		if in == nil {
			continue
		}
		n := &nodeState{id: id, src: src, in: in, pool: s.pools[src.Pool]}
		if src.Price > 0 {
			n.price = src.Price + p.Cluster.Options.Upkeep
		}
		n.cost, n.empty = s.disruption(src), !slices.ContainsFunc(src.Pods, pack.Movable)
		n.floor, _ = s.w.Floor(id)
		n.potential = s.w.Potential(id)
		if n.pool != nil {
			n.pool.price += n.price
			n.pool.cost += n.cost
		}
		s.nodes[id], s.named[src.Name] = n, n
		s.stats.Nodes++
	}
	for _, n := range s.managed() {
		n.blocks = s.blocksOf(n)
		if len(n.blocks) == 0 {
			s.stats.Candidates++
		}
	}
	return s
}

// managed are the managed nodes in the order of their numbers.
func (s *search) managed() []*nodeState {
	return slices.DeleteFunc(slices.Clone(s.nodes), func(n *nodeState) bool { return n == nil })
}

// disruption is the cost of letting the node go: one for itself, and for each movable pod one, more or less by its
// deletion cost and its priority, but never less than nothing.
//
// Source: the Karpenter v1 API's documentation of disruption costs: deletion cost over 2^27 and priority over 2^25 are
// added to one, within -10 and 10.
func (s *search) disruption(n *cluster.Node) int64 {
	cost := int64(unit)
	for _, pod := range n.Pods {
		if pack.Movable(pod) {
			cost += s.podCost(pod)
		}
	}
	return cost
}

func (s *search) podCost(pod *cluster.Pod) int64 {
	deletion, priority := int32(0), int32(0)
	if len(s.p.DeletionCosts) > 0 {
		deletion = s.p.DeletionCosts[pod.PodRef.String()]
	}
	if pod.Class != nil {
		priority = pod.Class.Priority
	}
	return min(max(unit+int64(deletion)*unit>>27+int64(priority)*unit>>25, 0), 10*unit)
}

// blocksOf are the reasons for which the node is no candidate at all.
func (s *search) blocksOf(n *nodeState) []Reason {
	out := slices.Clone(n.in.Blocks)
	add := func(r Reason) {
		if !slices.ContainsFunc(out, func(o Reason) bool { return o.Code == r.Code }) {
			out = append(out, r)
		}
	}
	if !n.src.Initialized {
		add(Reason{Code: NotInitialized})
	}
	if n.src.DoNotDisrupt {
		add(Reason{Code: DoNotDisrupt})
	}
	switch {
	case n.pool == nil:
		add(Reason{Code: NoPool, Detail: n.src.Pool})
	case n.pool.Static:
		add(Reason{Code: StaticPool})
	case n.pool.Policy == WhenEmpty && !n.empty:
		add(Reason{Code: PolicyForbids})
	}
	if s.w.Claimed(n.id) {
		add(Reason{Code: PendingPods})
	}
	return out
}

// candidate reports whether the node may still go.
func (n *nodeState) candidate() bool { return !n.gone && !n.target && len(n.blocks) == 0 }

// spot reports whether the node is spot capacity.
func (n *nodeState) spot() bool { return n.src.CapacityType == catalog.Spot }

// ended reports whether the work budget is used up.
func (s *search) ended() bool { return s.work() > s.limit }

func (s *search) work() int64 { return s.w.Work() - s.worked }

// allowed reports whether the budgets allow all the nodes to go for the cause.
func (s *search) allowed(nodes []*nodeState, cause Cause) bool {
	going := map[*poolState]int{}
	for _, n := range nodes {
		going[n.pool]++
		if left, limited := n.pool.Allowed[cause]; limited && going[n.pool] > left {
			return false
		}
	}
	return true
}

// podName is how a reason names a pod of a class: by the first of the node's pods that is of it.
func podName(nodes []*nodeState, class *cluster.Class) string {
	first := ""
	for _, n := range nodes {
		for _, pod := range n.src.Pods {
			name := pod.PodRef.String()
			if pod.Class != nil && class != nil && pod.Class.ID == class.ID && (first == "" || name < first) {
				first = name
			}
		}
	}
	return first
}

func byName(a, b *nodeState) int { return cmp.Compare(a.src.Name, b.src.Name) }
