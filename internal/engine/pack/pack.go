// Package pack decides which pods go to which nodes, and which nodes to launch for the rest.
//
// Solve is a pure function: the same Problem gives the same Plan, byte for byte, whatever the order of its parts.
//
// This file is the way of a problem from beginning to end; each stage has a file of its name:
//
//	choose preferences   preference_choose.go   which preferences count as demands
//	compile              compile.go             classes, pools, nodes and topology as the stages read them
//	place                place.go               pods onto nodes and onto nodes to launch
//	improve              improve.go             the same pods on cheaper nodes
//	settle addresses     addresses_settle.go    zones whose subnets run short are left
//	plan                 outcome.go             what is launched, what goes where, and why pods are left
package pack

import (
	"sync"

	"github.com/kerf-sh/kerf/internal/engine/plan"
)

// Solve places the pending pods on existing nodes and on new ones, at the least price per hour that it finds, and says
// of every pod that is left why.
//
// The order of work: classes are compiled, demands on topology are turned into pinned items, items go to existing nodes,
// then new nodes are opened for what is left, hardest item first, and filled with whatever pays best.
//
// Cost: grows with classes, types and nodes. Pods of a class are placed in numbers, so that their count hardly matters; those
// that have to be placed one by one cost in proportion to it, and do not look at every node anew.
// Concurrency: safe; p is only read.
func Solve(p *Problem) *plan.Plan { return NewEngine().Solve(p) }

// Engine solves one problem after the other and keeps what it worked out about instance types, pools and nodes that the
// next problem holds too, so that solving again costs what has changed. Its plans are those of Solve, byte for byte.
//
// Types, pools, nodes, pods and daemon classes are taken to be the same when their pointers are; nobody may change what
// they point to, nor the slices of a problem that was solved.
//
// Concurrency: safe; problems are solved one at a time.
type Engine struct {
	mu     sync.Mutex
	memory *memory
}

// NewEngine returns an engine that knows nothing yet.
func NewEngine() *Engine { return &Engine{} }

// Solve is the function Solve.
func (e *Engine) Solve(p *Problem) *plan.Plan {
	e.mu.Lock()
	defer e.mu.Unlock()
	k := e.memory
	if k == nil || k.full() {
		k = newMemory()
	}
	e.memory = nil // lost if this panics
	k.worked = Worked{}
	if out := k.last.again(p); out != nil {
		e.memory = k
		return out
	}
	out := guardPrices(p, k.solve(p), k.solve)
	k.endRound()
	k.last = &solved{problem: *p, plan: out}
	e.memory = k
	return out
}

// solve takes a problem through all stages. Most go through them once. A stage may find that the problem has to be solved
// again, with something heeded that the solution did not heed: it is learned, and what is learned only grows, so this ends.
//
// Cost: that of one solution; each deferred limit that is exceeded costs another, and each zone that runs short up to two more.
func (k *memory) solve(p *Problem) *plan.Plan {
	k.learned = learned{}
	for {
		s := k.choosePreferences(p)
		s = s.improved()
		short := s.settleAddresses()
		if s.exceedsLimits() || k.learned.zonesAreShort(short) {
			continue
		}
		return s.plan()
	}
}

// improved is the solution, or another of the same problem, improved within the budget of work.
func (s *solver) improved() *solver {
	before := s.frozenDomains()
	budget := s.budget()
	s.improve(budget)
	if s.opens(before) {
		s = s.memory.place(s.p, s.choice, nil) // cheaper, but pods rely on a domain being closed; this one it stays
	}
	return s.tryDomainHints(budget)
}

// Worked is what the last problem took.
func (e *Engine) Worked() Worked {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.memory == nil {
		return Worked{}
	}
	return e.memory.worked
}
