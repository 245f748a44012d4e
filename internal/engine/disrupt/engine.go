package disrupt

import (
	"maps"
	"reflect"
	"slices"
	"sync"

	"github.com/kerf-sh/kerf/internal/engine/pack"
)

// Engine decides about one problem after the other. It gives its last decision again while nothing has changed that could make it
// another one, as most looks at a cluster find it as it was; otherwise it goes on from what it knows of types, pools and nodes that are still
// there. Its decisions are those of Decide, byte for byte.
//
// Nodes, pods, classes and types are taken to be the same when their pointers are; nobody may change what they point to,
// nor the lists of a problem.
//
// The zero Engine knows nothing yet.
//
// Concurrency: safe; problems are decided one at a time.
type Engine struct {
	mu        sync.Mutex
	last      *decided
	questions pack.Questions
}

// decided is a problem with the answer to it.
type decided struct {
	problem  Problem
	decision *Decision
	// underutilizedTargets are the nodes whose Soon counts for moves (Move.Onto).
	underutilizedTargets map[string]bool
}

// Decide is the function Decide. Nobody may change what it returns.
//
// Cost: a comparison for each node while nothing changes, see pack.SameQuestions; otherwise that of Decide.
func (e *Engine) Decide(p *Problem) *Decision {
	e.mu.Lock()
	defer e.mu.Unlock()
	if p == nil || p.Cluster == nil {
		return Decide(p)
	}
	if d := e.last.again(p); d != nil {
		return d
	}
	e.last = nil         // lost if this panics
	e.questions.Forget() // what a panic left
	d, s := decide(p, &e.questions)
	defer e.questions.Release()
	e.last = &decided{*p, d, s.underutilizedTargets(d)}
	e.last.problem.Cluster, e.last.problem.Nodes = new(*p.Cluster), slices.Clone(p.Nodes)
	return d
}

// again is the decision in the words of p, if p differs from the problem in nothing that counts; otherwise it is nil.
func (x *decided) again(p *Problem) *Decision {
	if x == nil || !slices.EqualFunc(x.problem.Nodes, p.Nodes, x.sameNode) || !reflect.DeepEqual(x.problem.Pools, p.Pools) ||
		!maps.Equal(x.problem.DeletionCosts, p.DeletionCosts) || !reflect.DeepEqual(x.problem.Options, p.Options) || !pack.SameQuestions(x.problem.Cluster, p.Cluster) {
		return nil
	}
	d := *x.decision
	d.Generation, d.Repeated = p.Cluster.Generation, true
	blocks := make(map[string][]Reason, len(p.Nodes))
	for i := range p.Nodes {
		blocks[p.Nodes[i].Name] = p.Nodes[i].Blocks
	}
	d.Kept = slices.Clone(d.Kept)
	for i := range d.Kept {
		k := &d.Kept[i]
		if now := blocks[k.Node]; len(now) > 0 {
			k.Reasons = slices.Concat(now, k.Reasons[len(now):])
		}
	}
	d.Moves = slices.Clone(d.Moves)
	d.setOnto(p.Nodes, x.underutilizedTargets)
	return &d
}

// sameNode reports whether nothing that counts has changed of what is known of a node beyond the cluster. What blocks it
// may be worded otherwise, as when there is less time left, and that time is looked up anew.
func (x *decided) sameNode(a, b Node) bool {
	return a.Name == b.Name && x.problem.Options.lifetime(a) == x.problem.Options.lifetime(b) &&
		slices.EqualFunc(a.Blocks, b.Blocks, func(c, d Reason) bool { return c.Code == d.Code })
}
