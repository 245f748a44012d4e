package disrupt

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kerf-sh/kerf/internal/cluster"
	"github.com/kerf-sh/kerf/internal/landing"
	"github.com/kerf-sh/kerf/internal/pack"
	"github.com/kerf-sh/kerf/internal/plan"
	"github.com/kerf-sh/kerf/internal/res"
)

// follow keeps of the search's moves what holds when the scheduler has its way: it does not know of plans, and spreads the
// pods that come to it over all nodes that have room, so that a large one may find room on none. The moves are carried out
// on a board, in several orders in which pods may come. A move whose pods are left without a place gets another machine,
// if it pays even so; otherwise its nodes stay, and have their turn again once the pods of the others have landed.
//
// Where very many pods move the work ends before every order was tried; what is added for the pods that were left then
// is not tried again.
//
// Cost: landings of followWork pods, see landing.Board.Land.
func (s *search) follow() {
	f := newFollower(s)
	if f == nil {
		return
	}
	trials, done := f.trials(), 0
	for passed, at := 0, 0; passed < len(trials); {
		if done += len(f.pods); done > followWork && done > len(f.pods) {
			break
		}
		stuck := f.land(trials[at%len(trials)])
		if len(stuck) == 0 {
			passed++
			at++
			continue
		}
		passed = 0
		f.mend(stuck)
	}
	f.finish()
}

// followWork is how many pods land in a check, and mostMixed how many orders are tried at most that have nothing to do with
// what the pods are.
const followWork, mostMixed = 120_000, 24

// boundTries is how often room is made for pods that are bound to others or to be spread: room may not be what they lack.
const boundTries = 3

// landed is a landing: the order of the pods, and whether new machines are taken to be of their first type, or else to have
// no more than the least of what they may be.
type landed struct {
	order landing.Order
	first bool
}

// fewPods is how many pods at most may come sorted by size, the smallest first, by chance or by an order of drains.
const fewPods = 500

// trials are the landings in which the moves have to hold, those first in which they fail most likely.
func (f *follower) trials() []landed {
	out := []landed{{landing.Mixed, false}, {landing.StepByStep, true}, {landing.LargestFirst, false}}
	if len(f.pods) <= fewPods {
		out = slices.Insert(out, 0, landed{landing.LargestLast, false}, landed{landing.LargestLast, true})
	}
	mixed := min(followWork/4/max(1, len(f.pods)), mostMixed)
	if mixed > 3 {
		out = append(out, landed{landing.StepByStep, false}, landed{landing.LargestFirst, true})
	}
	for i := 1; i < mixed; i++ {
		out = append(out, landed{landing.Mixed + landing.Order(i), i%2 == 1})
	}
	return out
}

// follower is the moves in the course of the check.
type follower struct {
	s       *search
	boards  map[bool]*landing.Board // by whether new machines are of their first type
	engine  *pack.Engine
	moves   []*following
	of      map[string]*following // by node that goes
	dropped []*following
	pods    map[cluster.PodRef]*cluster.Pod
}

// following is a move with what was added to it.
type following struct {
	plain, move Move
	nodes       []*nodeState
	comes       []int
	// apart are pods for which room is bought beyond what the move planned.
	apart  map[cluster.PodRef]bool
	tries  int
	doubts string // a pod that found no place
	coming map[bool][]*cluster.Node
	// daemons is the room of each new node that is not for the pods that move.
	daemons []res.List
}

func newFollower(s *search) *follower {
	if !slices.ContainsFunc(s.moves, func(m Move) bool { return m.Cause != Empty }) {
		return nil
	}
	f := &follower{s: s, boards: map[bool]*landing.Board{}, engine: pack.NewEngine(), of: map[string]*following{}, pods: map[cluster.PodRef]*cluster.Pod{}}
	for i := range s.moves {
		m := &following{plain: s.moves[i], move: s.moves[i], apart: map[cluster.PodRef]bool{}, coming: map[bool][]*cluster.Node{}}
		for _, name := range m.move.Nodes {
			n := s.named[name]
			m.nodes = append(m.nodes, n)
			f.of[name] = m
			for _, pod := range n.src.Pods {
				f.pods[pod.PodRef] = pod
			}
		}
		f.moves = append(f.moves, m)
	}
	for _, m := range f.moves {
		for i := range m.plain.NewNodes {
			m.daemons = append(m.daemons, f.daemonsOf(&m.plain.NewNodes[i]))
		}
	}
	return f
}

// board makes the board, if it is not known.
func (f *follower) board(first bool) *landing.Board {
	if b := f.boards[first]; b != nil {
		return b
	}
	var coming []*cluster.Node
	for _, m := range f.moves {
		m.comes = nil
		for j := range m.move.NewNodes {
			m.comes = append(m.comes, len(coming)+j)
		}
		coming = append(coming, f.coming(m, first)...)
	}
	b := landing.NewBoard(f.s.p.Cluster.Nodes, coming, f.s.p.Cluster.Pending)
	f.boards[first] = b
	return b
}

// coming are the new nodes of a move.
func (f *follower) coming(m *following, first bool) []*cluster.Node {
	if known := m.coming[first]; known != nil {
		return known
	}
	out := []*cluster.Node{}
	for j := range m.move.NewNodes {
		name := fmt.Sprintf("new node %d for %s", j+1, m.nodes[0].src.Name)
		out = append(out, comingNode(&m.move.NewNodes[j], name, f.s.p.Cluster.Pools, first, m.daemons[j]))
	}
	m.coming[first] = out
	return out
}

func (f *follower) daemonsOf(nn *plan.NewNode) res.List {
	out := nn.Requests.Clone()
	for _, ref := range nn.Pods {
		for k, x := range f.requests(ref) {
			out[k] -= x
		}
	}
	return out
}

func (f *follower) requests(ref cluster.PodRef) res.List {
	if pod := f.pods[ref]; pod != nil && pod.Class != nil {
		return pod.Class.Requests
	}
	return nil
}

// land carries out what is left and returns the pods of the moves that find no place; one without a node where a pod that
// waits would find none any more.
func (f *follower) land(trial landed) []landing.Stuck {
	b, o := f.board(trial.first), trial.order
	var steps []landing.Step
	moving := false
	for _, m := range f.moves {
		step := landing.Step{Comes: m.comes}
		for _, n := range m.nodes {
			step.Away = append(step.Away, n.src.Name)
		}
		steps = append(steps, step)
		moving = moving || m.move.Cause != Empty
	}
	if !moving {
		return nil
	}
	var stuck, waiting []landing.Stuck
	for _, x := range b.Land(steps, o) {
		switch m := f.of[x.From]; {
		case x.From == "":
			waiting = append(waiting, x)
		case m.move.Cause == Empty: // its pods count as absent
		case m.tries < boundTries || b.Unbound(x.Pod):
			stuck = append(stuck, x)
		}
	}
	if len(waiting) > 0 && len(waiting) > len(b.Land(nil, o)) {
		stuck = append(stuck, waiting[0])
	}
	return stuck
}

// mend gives the moves of the stuck pods more room, or drops them.
func (f *follower) mend(stuck []landing.Stuck) {
	byMove, waits := map[*following][]*cluster.Pod{}, false
	for _, x := range stuck {
		if x.From == "" {
			waits = true
			continue
		}
		m := f.of[x.From]
		m.doubts = x.Pod.PodRef.String()
		byMove[m] = append(byMove[m], x.Pod)
	}
	for _, m := range slices.Clone(f.moves) {
		if pods := byMove[m]; len(pods) > 0 && !f.widen(m, pods) {
			f.drop(m)
		}
	}
	if waits {
		f.dropLast()
	}
	clear(f.boards)
}

func (f *follower) drop(m *following) {
	f.moves = slices.DeleteFunc(f.moves, func(o *following) bool { return o == m })
	f.dropped = append(f.dropped, m)
	for _, n := range m.nodes {
		delete(f.of, n.src.Name)
	}
}

// dropLast drops the move that saves least.
func (f *follower) dropLast() {
	var last *following
	for _, m := range f.moves {
		if m.move.Cause != Empty && (last == nil || m.move.Saving <= last.move.Saving) {
			last = m
		}
	}
	if last != nil {
		f.drop(last)
	}
}

// finish makes what is left the moves of the search, and says of the nodes that stay why.
func (f *follower) finish() {
	s := f.s
	s.moves = s.moves[:0:0]
	takes := map[string]bool{}
	for _, m := range f.moves {
		s.moves = append(s.moves, m.move)
		for _, pl := range m.move.Placements {
			takes[pl.Node] = true
		}
	}
	for _, m := range f.dropped {
		for _, n := range m.nodes {
			n.gone, n.saves = false, 0
			if n.reason = (Reason{Code: NotFollowed, Pod: m.doubts}); len(m.nodes) == 1 {
				n.saves = m.plain.Saving
			}
		}
	}
	for _, n := range s.managed() {
		if n.target && !takes[n.src.Name] {
			n.target = false
			if n.reason = cmp.Or(n.reason, Reason{Code: NotFollowed}); len(n.blocks) > 0 {
				n.reason = Reason{}
			}
		}
	}
}
