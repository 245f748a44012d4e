package pack

import (
	"cmp"
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
	s         *solver
	displaced []*displacedClass // in the order in which they are placed: hardest first
	holds     [][]holding
	orderOf   map[*class]int
	// foreign is what groups count of pods of a node which do not move with it, by node.
	foreign   [][]foreign
	ephemeral []ephemeralDomains
	floor     floorPrices

	gone    []bool
	claimed []bool
	targets targetIndex
	fork    *fork
	// followed marks domains into which pods were moved because of the pods that are there, arrived how many were moved
	// there altogether; arranged are the spreads by which pods were moved.
	followed map[followedDomain]bool
	arrived  map[followedDomain]int
	arranged map[*group]bool
	// levels are the domains into which pods were moved that bear a spread, and what it allows there.
	levels  map[*group][]level
	scanned int64
	// scarce are the resources that every node has, total what each node has of all.
	scarce []int
	total  []res.Vector
	nodes  []*node // scratch
}

// displacedClass is a class of pods that may have to move.
type displacedClass struct {
	class      *class
	item       *podGroup
	order      int // among displaced classes
	sequential bool
	strict     bool // as the class itself was compiled
	// floor is the least that a pod can cost on a new node, in micro-USD per hour; buyable is false if there is none.
	floor      float64
	launchable bool
	// cheapest is the price of the cheapest new node that takes one pod.
	cheapest catalog.MicroUSD
	// full is set once no node has room for even one pod. Room only shrinks, so that it stays true.
	full bool
	// left and pods are those of the current fork.
	left int
	pods []*cluster.Pod
}

// holding is the pods of one class that a node holds.
type holding struct {
	mover *displacedClass
	pods  []*cluster.Pod
}

type followedDomain struct {
	group  *group
	domain string
}

// NewWhatIf compiles the problem with all pods of its nodes.
//
// Cost: as the compilation of Solve over all pods of the cluster.
func NewWhatIf(p *Problem) *WhatIf {
	s := newSolver(p, newMemory())
	s.moving, s.journal = movablePods(p), &journal{}
	s.compile()
	w := &WhatIf{s: s, gone: make([]bool, len(s.nodes)), claimed: make([]bool, len(s.nodes)), followed: map[followedDomain]bool{},
		arrived: map[followedDomain]int{}, arranged: map[*group]bool{}, levels: map[*group][]level{}, orderOf: map[*class]int{}}
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
	w.placePending()
	w.SetTargets(everything)
	return w
}

// Movable reports whether a pod has to find another place when its node goes.
func Movable(pod *cluster.Pod) bool {
	return !pod.Daemon && !pod.Mirror && !pod.Terminating
}

func movablePods(p *Problem) []*cluster.Pod {
	pending := make(map[*cluster.Pod]bool, len(p.Pending))
	for _, pod := range p.Pending {
		pending[pod] = true
	}
	out := []*cluster.Pod{}
	for _, n := range p.Nodes {
		if n.Deleting {
			continue
		}
		for _, pod := range n.Pods {
			if Movable(pod) && !pending[pod] {
				out = append(out, pod)
			}
		}
	}
	return out
}

// followSpreads makes classes that a hard spread of others counts follow it too, so that moving them does not break what
// was arranged for the others.
func (w *WhatIf) followSpreads() {
	for _, c := range w.s.classes {
		var extra []demand
		for _, g := range c.topo.wideIn {
			if g.kind != spreading || c.owns(g) {
				continue
			}
			d := demand{group: g, self: true}
			for _, bearer := range w.s.bearers[g.id] {
				for _, other := range bearer.topo.wide {
					if other.group == g && (d.maxSkew == 0 || other.maxSkew < d.maxSkew) {
						d.maxSkew, d.minDomains = other.maxSkew, other.minDomains
					}
				}
			}
			if d.maxSkew > 0 {
				extra = append(extra, d)
			}
		}
		c.topo.wide = append(c.topo.wide, extra...)
	}
}

func (w *WhatIf) compileDisplaced() {
	s := w.s
	for _, c := range s.classes {
		careful := c.sequential || len(c.topo.wide) > 0 || slices.ContainsFunc(c.topo.repels, func(g *group) bool { return !g.byHost })
		m := &displacedClass{class: c, strict: c.sequential, sequential: careful}
		w.displaced = append(w.displaced, m)
		if c.broken != "" {
			continue
		}
		m.item = s.newItem(c, 0, "", 0)
		c.items = append(c.items, m.item)
		m.item.hard = s.rate(m.item)
	}
	slices.SortStableFunc(w.displaced, func(a, b *displacedClass) int {
		if a.item == nil || b.item == nil {
			return cmp.Or(cmp.Compare(boolRank(a.item == nil), boolRank(b.item == nil)), cmp.Compare(a.class.src.ID, b.class.src.ID))
		}
		x, y := a.item.hard, b.item.hard
		return cmp.Or(cmp.Compare(y.priority, x.priority), cmp.Compare(x.bound, y.bound), cmp.Compare(x.choices, y.choices),
			cmp.Compare(y.worth, x.worth), cmp.Compare(a.class.src.ID, b.class.src.ID))
	})
	for i, m := range w.displaced {
		m.order, w.orderOf[m.class] = i, i
	}
}

func (w *WhatIf) findHoldings() {
	byPod := make(map[*cluster.Pod]*displacedClass, len(w.s.moving))
	for _, m := range w.displaced {
		for _, pod := range m.class.pods {
			byPod[pod] = m
		}
	}
	w.holds = make([][]holding, len(w.s.nodes))
	for id, n := range w.s.nodes {
		var mine []holding
		for _, pod := range n.src.Pods {
			m := byPod[pod]
			if m == nil || !Movable(pod) {
				continue
			}
			i := slices.IndexFunc(mine, func(h holding) bool { return h.mover == m })
			if i < 0 {
				i = len(mine)
				mine = append(mine, holding{mover: m})
			}
			mine[i].pods = append(mine[i].pods, pod)
		}
		slices.SortFunc(mine, func(a, b holding) int { return cmp.Compare(a.mover.order, b.mover.order) })
		for _, h := range mine {
			slices.SortFunc(h.pods, func(a, b *cluster.Pod) int {
				return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
			})
		}
		w.holds[id] = mine
	}
}

// foreign is what a group counts on a node of pods that go with it without needing a new place, such as daemons.
type foreign struct {
	group           *group
	matched, owners int
}

// findForeign finds what topology counts on a node that goes with it without needing a new place.
func (w *WhatIf) findForeign() {
	w.foreign = make([][]foreign, len(w.s.nodes))
	if len(w.s.groups) == 0 {
		return
	}
	known := map[*cluster.Class][]foreign{}
	for id, n := range w.s.nodes {
		for _, pod := range n.src.Pods {
			if pod.Class == nil || pod.Terminating || Movable(pod) {
				continue
			}
			mine, ok := known[pod.Class]
			if !ok {
				mine = w.countedFor(pod.Class)
				known[pod.Class] = mine
			}
			for _, x := range mine {
				if x.group.byHost {
					w.foreign[id] = append(w.foreign[id], x)
				} else if _, ok := n.domain(x.group.keyID); ok {
					if x.matched > 0 && !x.group.counting(w.s, n) {
						continue
					}
					w.foreign[id] = append(w.foreign[id], x)
				}
			}
		}
	}
}

// countedFor are the groups that count a running pod of the class: because they select it, or because it bears their
// anti-affinity.
func (w *WhatIf) countedFor(c *cluster.Class) []foreign {
	var out []foreign
	for _, g := range w.s.groups {
		if g.selects(c) {
			out = append(out, foreign{group: g, matched: 1})
		}
	}
	for _, t := range c.AntiAffinity {
		if t.Weight > 0 {
			continue
		}
		own := affinityGroup(repelling, c, t)
		name := own.identity()
		for _, g := range w.s.groups {
			if g.name == name && !g.byHost {
				out = append(out, foreign{group: g, owners: 1})
			}
		}
	}
	return out
}

func (w *WhatIf) findEphemeralDomains() {
	for _, g := range w.s.groups {
		if g.kind != spreading || g.byHost {
			continue
		}
		l := ephemeralDomains{group: g, nodes: map[string]int{}, of: map[int]string{}}
		for d := range g.present {
			if !slices.Contains(g.reachable, d) {
				l.nodes[d] = 0
			}
		}
		if len(l.nodes) == 0 {
			continue
		}
		for id, n := range w.s.nodes {
			d, ok := n.domain(g.keyID)
			if _, lone := l.nodes[d]; ok && lone && g.counting(w.s, n) {
				l.nodes[d]++
				l.of[id] = d
			}
		}
		w.ephemeral = append(w.ephemeral, l)
	}
}

// placePending lets pending pods take the room that they find on nodes, for good.
func (w *WhatIf) placePending() {
	if len(w.s.p.Pending) == 0 {
		return
	}
	pending := map[*cluster.Pod]bool{}
	for _, pod := range w.s.p.Pending {
		pending[pod] = true
	}
	f := w.begin(nil)
	f.anyNode = true
	for _, m := range w.displaced {
		waiting := 0
		for _, pod := range m.class.pods {
			if pending[pod] {
				waiting++
			}
		}
		if waiting > 0 && m.item != nil {
			f.add(m, waiting)
		}
	}
	w.placeOnNodes(f)
	for _, t := range w.s.journal.nodes {
		for _, q := range t.node.placed {
			w.claimed[t.node.id] = true
			// Others can't count on them yet; only where they keep others away they count.
			for _, g := range q.item.class.topo.wideIn {
				if d, ok := t.node.domain(g.keyID); ok && g.kind != repelling && g.counting(w.s, t.node) {
					w.s.journal.group(g)
					g.counts[d] -= q.n
					g.total -= q.n
				}
			}
			for _, g := range q.item.class.topo.hostIn {
				if g.kind == attracting {
					w.s.journal.group(g)
					t.node.host.add(g.id, -q.n, 0)
					g.total -= q.n
				}
			}
		}
	}
	w.settleFork()
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
