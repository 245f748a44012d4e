package pack

import (
	"cmp"
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
)

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
	// left and pods are those of the current fork. offSpot: some pod comes from a node that is not spot.
	left    int
	pods    []*cluster.Pod
	offSpot bool
}

// holding is the pods of one class that a node holds.
type holding struct {
	mover *displacedClass
	pods  []*cluster.Pod
}

// foreign is what a group counts on a node of pods that go with it without needing a new place, such as daemons.
type foreign struct {
	group           *group
	matched, owners int
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

// findForeign finds what topology counts on a node that goes with it without needing a new place.
func (w *WhatIf) findForeign() {
	w.foreign = make([][]foreign, len(w.s.nodes))
	if len(w.s.groups) == 0 {
		return
	}
	known := map[runKey][]foreign{}
	for id, n := range w.s.nodes {
		for _, pod := range n.src.Pods {
			if pod.Class == nil || !pod.InCompany() || Movable(pod) {
				continue
			}
			of := runKey{class: pod.Class, lingers: pod.Lingers}
			mine, ok := known[of]
			if !ok {
				mine = w.countedFor(of)
				known[of] = mine
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
func (w *WhatIf) countedFor(of runKey) []foreign {
	c := of.class
	var out []foreign
	for _, g := range w.s.groups {
		if g.selects(c) && !(of.lingers && g.kind == spreading) {
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
			w.displace(f, m, waiting)
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
