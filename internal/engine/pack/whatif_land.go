package pack

import (
	"cmp"
	"maps"
	"math"
	"math/bits"
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// Land says where kube-scheduler is expected to put the pods of kept answers, in place of where they were found to fit: a
// question fills nodes one after the other, whereas the scheduler prefers nodes with much room and few pods of the same
// workload. moves are the placements of all kept answers, in their order; what is returned has places for the same pods of
// each, on nodes that are kept.
//
// New nodes are not among the places: they ask to be avoided until it is their turn, and their pods come then (controller/disrupt,
// Candidates).
//
// Only pods that nothing but their own requests and node requirements bind are placed anew. Where they would not all find room
// in the order in which they are evicted, the second result is false and the placements stand as they were.
//
// Cost: one score for each pod and node with room. With more than the given number of scores nothing is done.
func (w *WhatIf) Land(moves [][]plan.Placement, most int64) ([][]plan.Placement, bool) {
	l := w.newLanding()
	out := make([][]plan.Placement, len(moves))
	var queue []*landingPod
	for i, placements := range moves {
		for _, pl := range placements {
			stays := plan.Placement{Node: pl.Node}
			for _, ref := range pl.Pods {
				p, n := l.free[ref], l.nodes[pl.Node]
				if p != nil && n != nil {
					n.room.Add(p.class.req, 1)
					p.move = i
					queue = append(queue, p)
				} else {
					stays.Pods = append(stays.Pods, ref)
				}
			}
			if len(stays.Pods) > 0 {
				out[i] = append(out[i], stays)
			}
		}
	}
	scores := int64(len(queue)) * int64(len(l.nodes))
	if scores == 0 || scores > most {
		return nil, false
	}
	w.scanned += scores / 4
	// Moves of one decision begin together, and controller/terminate evicts those that few nodes suit first, then the largest.
	slices.SortStableFunc(queue, func(a, b *landingPod) int {
		return cmp.Or(boolRank(b.class.src.Tied())-boolRank(a.class.src.Tied()), cmp.Compare(b.class.src.Requests.Size(), a.class.src.Requests.Size()), cmp.Compare(a.order, b.order), cmp.Compare(a.ref.String(), b.ref.String()))
	})
	at := make([]map[string][]cluster.PodRef, len(moves))
	for _, p := range queue {
		n := l.choose(p.displacedClass)
		if n == nil {
			return nil, false
		}
		l.take(n, p)
		if at[p.move] == nil {
			at[p.move] = map[string][]cluster.PodRef{}
		}
		at[p.move][n.src.Name] = append(at[p.move][n.src.Name], p.ref)
	}
	for i := range out {
		out[i] = addPods(out[i], at[i])
	}
	return out, true
}

// addPods adds pods to the placements on their nodes.
func addPods(placements []plan.Placement, at map[string][]cluster.PodRef) []plan.Placement {
	for i := range placements {
		pl := &placements[i]
		pl.Pods = append(pl.Pods, at[pl.Node]...)
		delete(at, pl.Node)
	}
	for _, name := range slices.Sorted(maps.Keys(at)) {
		placements = append(placements, plan.Placement{Node: name, Pods: at[name]})
	}
	for i := range placements {
		sortRefs(placements[i].Pods)
	}
	slices.SortFunc(placements, func(a, b plan.Placement) int { return cmp.Compare(a.Node, b.Node) })
	return placements
}

// landing is the cluster as the scheduler will see it when pods come in the place of evicted ones.
type landing struct {
	s     *solver
	free  map[cluster.PodRef]*landingPod // pods of nodes that go, of classes that may go anywhere
	nodes map[string]*landingNode
	order []*landingNode // that pods may go to, by number
	zones map[string]int // by name
	like  map[*displacedClass]*likePods
	fit   []*landingNode // scratch
}

// landingPod is a pod that is placed anew, and the number of its move.
type landingPod struct {
	*displacedClass
	ref  cluster.PodRef
	zone int // of the node that it leaves
	move int
}

type landingNode struct {
	*node
	at    int // in order
	room  res.Vector
	total res.Vector
	zone  int
	apart int64 // scratch: how little a pod likes the node for the pods like it
}

// likePods counts the pods of a class by node and by zone.
type likePods struct{ onNode, inZone []int64 }

func (w *WhatIf) newLanding() *landing {
	l := &landing{s: w.s, free: map[cluster.PodRef]*landingPod{}, nodes: map[string]*landingNode{}, zones: map[string]int{}, like: map[*displacedClass]*likePods{}}
	key := w.s.vocab.Key(requirement.Zone)
	for id, n := range w.s.nodes {
		name, _ := n.domain(key)
		zone, ok := l.zones[name]
		if !ok {
			zone = len(l.zones)
			l.zones[name] = zone
		}
		if w.kept.gone[id] {
			for _, h := range w.holds[id] {
				if h.mover.goesAnywhere() {
					for _, pod := range h.pods {
						l.free[pod.PodRef] = &landingPod{displacedClass: h.mover, ref: pod.PodRef, zone: zone}
					}
				}
			}
			continue
		}
		x := &landingNode{node: n, at: len(l.order), room: n.room.Clone(), total: w.total[id], zone: zone}
		l.nodes[n.src.Name] = x
		if n.settled() {
			l.order = append(l.order, x)
		}
	}
	return l
}

// goesAnywhere reports whether nothing but requests and node requirements says where the class goes.
func (m *displacedClass) goesAnywhere() bool {
	return m.item != nil && !m.sequential && len(m.class.topo.matched) == 0 && len(m.class.topo.host) == 0 && len(m.class.src.HostPorts) == 0 &&
		len(m.class.src.Shared) == 0
}

func (l *landing) likeOf(m *displacedClass) *likePods {
	if known := l.like[m]; known != nil {
		return known
	}
	c := &likePods{make([]int64, len(l.order)), make([]int64, len(l.zones))}
	l.like[m] = c
	for _, p := range l.free {
		if p.displacedClass == m {
			c.inZone[p.zone]++ // until it is evicted
		}
	}
	for _, n := range l.order {
		for _, pod := range n.src.Pods {
			if pod.Class != nil && pod.Class.ID == m.class.src.ID && !pod.Terminating {
				c.onNode[n.at]++
				c.inZone[n.zone]++
			}
		}
	}
	return c
}

func (l *landing) take(n *landingNode, p *landingPod) {
	n.room.Sub(p.class.req, 1)
	c := l.likeOf(p.displacedClass)
	c.inZone[p.zone]--
	c.onNode[n.at]++
	c.inZone[n.zone]++
}

// choose is the node that kube-scheduler's default plugins score highest, of equals the first; nil if no node has room.
// Weights and formulas are those of its default configuration: https://kubernetes.io/docs/reference/scheduling/config/.
func (l *landing) choose(m *displacedClass) *landingNode {
	l.fit = l.fit[:0]
	for _, n := range l.order {
		if m.class.req.Fits(n.room) && l.s.fitsKind(m.item, n.node) <= avoids {
			l.fit = append(l.fit, n)
		}
	}
	low, high := l.spread(m)
	var best *landingNode
	most := int64(0)
	for _, n := range l.fit {
		score := l.roomScore(m, n)
		if l.s.fitsKind(m.item, n.node) == bears {
			score += 3 * hundred
		}
		if high > 0 {
			score += 2 * hundred * (high + low - n.apart) / high
		}
		if best == nil || score > most {
			best, most = n, score
		}
	}
	return best
}

// spread works out how the nodes with room stand to the scheduler's own default spreads: over hosts with a skew of 3, over zones
// with one of 5.
func (l *landing) spread(m *displacedClass) (low, high int64) {
	like := l.likeOf(m)
	var zones uint64
	for _, n := range l.fit {
		zones |= 1 << min(n.zone, 63)
	}
	host, zone := spreadWeight(len(l.fit)), spreadWeight(bits.OnesCount64(zones))
	low = math.MaxInt64
	for _, n := range l.fit {
		n.apart = like.onNode[n.at]*host + like.inZone[n.zone]*zone
		low, high = min(low, n.apart), max(high, n.apart)
	}
	return low, high
}

// hundred is the most that a plugin gives a node, in thousandths of its points: whole points would make ties of nodes that
// the scheduler tells apart after rounding no more finely, but in an order of its own.
const hundred = 100_000

// spreadWeight is what one pod more weighs in a spread over so many domains, in thousandths.
func spreadWeight(domains int) int64 { return int64(math.Round(1000 * math.Log(float64(domains+2)))) }

// roomScore is NodeResourcesFit (LeastAllocated) and NodeResourcesBalancedAllocation of cpu and memory.
func (l *landing) roomScore(m *displacedClass, n *landingNode) int64 {
	share := func(name string) int64 {
		r, ok := l.s.schema.Index(name)
		if !ok || n.total[r] <= 0 {
			return 0
		}
		return hundred * max(0, n.room[r]-m.class.req[r]) / n.total[r]
	}
	cpu, memory := share(res.CPU), share(res.Memory)
	return (cpu+memory)/2 + hundred - max(cpu-memory, memory-cpu)/2
}
