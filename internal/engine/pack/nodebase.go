package pack

import (
	"cmp"
	"maps"
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// ground is the existing nodes before anything is placed on them, kept from one problem to the next. A node that keeps
// its pointer is neither compiled nor counted again; what is left to do for it each time is to compare the pointer and
// to look over one entry of a table, without allocation.
type nodeBase struct {
	given []*cluster.Node // as in the last problem
	at    []*keptNode     // of given; nil for nodes that are being deleted and hold nothing that counts
	bySrc map[*cluster.Node]*keptNode
	order []*keptNode // initialized ones first, then by name; those that are being deleted are not among them
	going []*keptNode // those that are being deleted; only pod affinity and anti-affinity count what runs there
	most  []res.Vector
	round int

	nextAt, nextOrder, fresh []*keptNode // scratch

	runs   runTable
	kinds  kindTable
	spare  []*nodeOverlay
	worked *Worked
}

// keptNode is a compiled node.
type keptNode struct {
	node  node
	round int
	runs  []runCount
	look  int // number of what tells its kind apart besides labels
}

// field is the nodes as one solver changes them.
type nodeOverlay struct {
	to    *nodeBase
	nodes []node
	refs  []*node
}

// stripSize is how many nodes, in their order, are passed over at once when none of them has room enough.
const stripSize = 32

func newNodeBase(w *Worked) nodeBase {
	return nodeBase{bySrc: map[*cluster.Node]*keptNode{}, runs: newRunTable(), kinds: newKindTable(), worked: w}
}

// compileNodes makes the nodes of the problem, each as it is before anything is placed on it.
func (s *solver) compileNodes() {
	g := s.ground()
	g.update(s)
	f := g.lend()
	s.memory.overlays = append(s.memory.overlays, f)
	s.overlay = f
	s.nodes, s.most = f.refs, g.most
	if s.moving != nil {
		for _, n := range s.nodes {
			n.own()
		}
	}
}

// update takes in the nodes that came, and forgets those that went.
func (g *nodeBase) update(s *solver) {
	if slices.Equal(g.given, s.p.Nodes) {
		return
	}
	g.round++
	g.fresh, g.nextAt = g.fresh[:0], g.nextAt[:0]
	for i, src := range s.p.Nodes {
		if src.Deleting && !slices.ContainsFunc(src.Pods, (*cluster.Pod).InCompany) {
			g.nextAt = append(g.nextAt, nil)
			continue
		}
		var k *keptNode
		if i < len(g.given) && g.given[i] == src {
			k = g.at[i]
		} else {
			k = g.bySrc[src]
		}
		if k == nil || k.round == g.round { // new, or listed twice
			var before *keptNode
			if i < len(g.at) && g.at[i] != nil && g.at[i].node.src.Name == src.Name {
				before = g.at[i]
			}
			k = g.compile(s, src, before)
		}
		k.round = g.round
		g.nextAt = append(g.nextAt, k)
	}
	for _, k := range g.at {
		if k != nil && k.round != g.round {
			g.forget(k)
		}
	}
	g.given = append(g.given[:0], s.p.Nodes...)
	g.at, g.nextAt = g.nextAt, g.at
	clear(g.nextAt)
	clear(g.going)
	g.going = g.going[:0]
	for _, k := range g.at {
		if k != nil && k.node.src.Deleting {
			g.going = append(g.going, k)
		}
	}
	g.sort()
	clear(g.fresh)
	g.runs.tidy()
}

// compile makes a node, of which an earlier state may be known.
func (g *nodeBase) compile(s *solver, src *cluster.Node, before *keptNode) *keptNode {
	var labels *requirement.Requirements
	if before != nil && !before.node.open && len(src.Requirements) == 0 && before.node.src.Hostname == src.Hostname &&
		joined(before.node.src) == joined(src) && maps.Equal(before.node.src.Labels, src.Labels) {
		labels = &before.node.labels
	}
	k := &keptNode{node: *s.newNode(src, labels)}
	k.node.was = k
	if !src.Deleting {
		k.look = g.kinds.lookOf(&k.node)
		k.node.kind = g.kinds.kindOf(k)
		g.fresh = append(g.fresh, k)
	}
	g.runs.add(k)
	g.bySrc[src] = k
	g.worked.Nodes++
	return k
}

func (g *nodeBase) forget(k *keptNode) {
	g.runs.remove(k)
	if g.bySrc[k.node.src] == k {
		delete(g.bySrc, k.node.src)
	}
}

// sort merges the new nodes into the order of those that stay.
func (g *nodeBase) sort() {
	before := func(a, b *keptNode) int {
		return cmp.Or(boolRank(b.node.settled())-boolRank(a.node.settled()), cmp.Compare(a.node.src.Name, b.node.src.Name))
	}
	slices.SortStableFunc(g.fresh, before)
	fresh := g.fresh
	out := g.nextOrder[:0]
	for _, k := range g.order {
		if k.round != g.round {
			continue
		}
		for len(fresh) > 0 && before(fresh[0], k) < 0 {
			out, fresh = append(out, fresh[0]), fresh[1:]
		}
		out = append(out, k)
	}
	out = append(out, fresh...)
	clear(g.order)
	g.order, g.nextOrder = out, g.order
	g.measure()
}

// measure finds the most room of any node, by strip.
func (g *nodeBase) measure() {
	blocks := (len(g.order) + stripSize - 1) / stripSize
	for len(g.most) < blocks {
		g.most = append(g.most, nil)
	}
	g.most = g.most[:blocks]
	at := 0
	for part := range slices.Chunk(g.order, stripSize) {
		g.most[at] = mostRoom(g.most[at], len(part), func(i int) res.Vector { return part[i].node.room })
		at++
	}
}

// mostRoom is the most of each resource that any of n rooms has; in the memory of most, if that fits.
func mostRoom(most res.Vector, n int, room func(i int) res.Vector) res.Vector {
	for i := range n {
		switch r := room(i); {
		case i > 0:
			most.Max(r)
		case len(most) == len(r):
			copy(most, r)
		default:
			most = r.Clone()
		}
	}
	return most
}

// lend is a copy of the nodes that a solver may change. Copies that come back are used again, in which only what differs
// is set anew.
func (g *nodeBase) lend() *nodeOverlay {
	f := &nodeOverlay{to: g}
	if n := len(g.spare); n > 0 {
		f, g.spare = g.spare[n-1], g.spare[:n-1]
	}
	if cap(f.nodes) < len(g.order) {
		f.nodes = make([]node, 0, len(g.order)+len(g.order)/8)
		f.refs = f.refs[:0]
		for i := range cap(f.nodes) {
			f.refs = append(f.refs, &f.nodes[:cap(f.nodes)][i])
		}
	}
	clear(f.nodes[min(len(g.order), len(f.nodes)):])
	f.nodes = f.nodes[:len(g.order)]
	for i, k := range g.order {
		n := &f.nodes[i]
		if n.was != k || n.owned {
			*n = k.node
		}
		n.id, n.kind = i, k.node.kind
	}
	f.refs = f.refs[:len(g.order)]
	return f
}

// own makes what the node has its own, before it is changed.
func (n *node) own() {
	if !n.owned {
		n.owned = true
		n.room, n.ports = n.room.Clone(), slices.Clip(n.ports)
	}
}

func (s *solver) ground() *nodeBase { return &s.compileKey.base }

// strip is the nodes of one strip.
func (s *solver) strip(b int) []*node {
	return s.nodes[b*stripSize : min((b+1)*stripSize, len(s.nodes))]
}
