package pack

import (
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// WhatIf answers, over one compiled snapshot, where the pods of some nodes would go if those nodes went away, and what
// the new nodes would cost that had to be launched for them. Every question is asked of a fork that is dropped, unless it is
// kept; kept answers are the ground of the next questions, so that all that were kept are feasible together.
//
// Pending pods of the problem come first: they keep the room that they find on nodes. New new nodes of one answer are not
// filled up by the next.
//
// Cost: a question costs in proportion to the pods that it moves, not to the cluster.
// Concurrency: not safe; a WhatIf is made for each goroutine.
type WhatIf struct {
	s *solver
	movable
	kept
	targets targetIndex
	fork    *fork
	scanned int64
	nodes   []*node // scratch
}

// movable is what may have to move, compiled once.
type movable struct {
	displaced []*displacedClass // in the order in which they are placed: hardest first
	holds     [][]holding       // by node
	orderOf   map[*class]int
	// foreign is what groups count of pods of a node which do not move with it, by node.
	foreign   [][]foreign
	ephemeral []ephemeralDomains
	floor     floorPrices
	// scarce are the resources that every node has, total what each node has of all.
	scarce []int
	total  []res.Vector
}

// kept is what the answers that were kept made of the cluster.
type kept struct {
	gone    []bool // by node
	claimed []bool // by node: pending pods count on it
	// followed marks domains into which pods were moved because of the pods that are there, arrived how many were moved
	// there altogether.
	followed map[followedDomain]bool
	arrived  map[followedDomain]int
	// levels are the domains into which pods were moved that bear a spread, and what it allows there.
	levels map[*group][]level
}

// NewWhatIf compiles the problem with all pods of its nodes.
//
// Cost: as the compilation of Solve over all pods of the cluster.
func NewWhatIf(p *Problem) *WhatIf { return newWhatIf(p, newMemory()) }

func newWhatIf(p *Problem, k *memory) *WhatIf {
	s := newSolver(p, k)
	s.moving, s.journal = movablePods(p), &journal{}
	s.compile()
	w := &WhatIf{s: s, movable: movable{orderOf: map[*class]int{}},
		kept: kept{gone: make([]bool, len(s.nodes)), claimed: make([]bool, len(s.nodes)), followed: map[followedDomain]bool{},
			arrived: map[followedDomain]int{}, levels: map[*group][]level{}}}
	for _, name := range []string{res.CPU, res.Memory, res.Pods} {
		if r, ok := s.schema.Index(name); ok {
			w.scarce = append(w.scarce, r)
		}
	}
	for _, n := range s.nodes {
		w.total = append(w.total, s.schema.Vector(n.src.Allocatable))
	}
	w.followSpreads()
	w.compileDisplaced()
	w.floor.learn(w)
	w.findHoldings()
	w.findForeign()
	w.findEphemeralDomains()
	everything := make([]int, len(s.nodes))
	for i := range everything {
		everything[i] = i
	}
	w.targets.set(w, everything)
	w.findDomains()
	w.placePending()
	w.SetTargets(everything)
	return w
}

// Movable reports whether a pod has to find another place when its node goes.
func Movable(pod *cluster.Pod) bool {
	return !pod.Daemon && !pod.Mirror && !pod.Terminating
}

// Len is the number of nodes that are not being deleted. They are numbered from 0: those that are initialized first, then
// by name.
func (w *WhatIf) Len() int { return len(w.s.nodes) }

// Node is the node of a number.
func (w *WhatIf) Node(i int) *cluster.Node { return w.s.nodes[i].src }

// Claimed reports whether pending pods count on the node.
func (w *WhatIf) Claimed(i int) bool { return w.claimed[i] }

// Floor is the least, per hour, that new nodes for the movable pods of the node can cost, wherever they are packed,
// reserved capacity aside; false if one of the pods can't be launched for at all.
func (w *WhatIf) Floor(i int) (catalog.MicroUSD, bool) {
	sum, ok := 0.0, true
	for _, h := range w.holds[i] {
		sum += float64(h.mover.floor * float64(len(h.pods)))
		ok = ok && h.mover.launchable
	}
	return catalog.MicroUSD(sum), ok
}

// Potential is the least that new nodes with all the room of the node would cost, per hour.
func (w *WhatIf) Potential(i int) catalog.MicroUSD {
	return catalog.MicroUSD(w.floor.scale * w.floor.weigh(w.total[i]))
}

// SetTargets names the nodes to which pods may move, in the order in which they are filled. Nodes that are not
// initialized never are targets.
func (w *WhatIf) SetTargets(order []int) {
	w.targets.set(w, slices.DeleteFunc(slices.Clone(order), func(i int) bool { return !w.s.nodes[i].settled() }))
	for _, m := range w.displaced {
		m.full = false
	}
}

// Work is how much was tried so far, in units of one node or one eighth of a new node.
func (w *WhatIf) Work() int64 {
	return w.scanned + int64(w.s.stats.NodesTried) + 8*int64(w.s.stats.TypesEvaluated)
}

// Moved is a kept answer.
type Moved struct {
	// Placements of pods on nodes that stay, NewNodes with the rest.
	Placements []plan.Placement
	NewNodes   []plan.NewNode
	// Worst is what the new nodes together cost per hour if the launch ends with the dearest choice they leave.
	Worst catalog.MicroUSD
}
