package pack

import (
	"slices"
	"testing"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
)

func TestQuestionsGoOnFromWhatTheyKnow(t *testing.T) {
	const nodes = 20
	x := newPassing(nodes)
	x.step(nodes)
	p := x.p
	var q Questions
	worked := func(p *Problem) Worked { return q.WhatIf(p).s.memory.worked }
	all := Worked{Nodes: nodes, Kinds: nodes, Catalogs: 1, Pools: 1}
	if got := worked(&p); got != all {
		t.Fatalf("at first %+v was worked out, want %+v", got, all)
	}
	q.Release()
	if got := worked(&p); got != (Worked{}) {
		t.Errorf("%+v was worked out though nothing has changed", got)
	}
	if got := worked(&p); got != all {
		t.Errorf("beside another, %+v was worked out, want %+v", got, all)
	}
	q.Release()
	next := p
	next.Nodes = slices.Clone(p.Nodes)
	changed := *p.Nodes[3]
	changed.Pods = []*cluster.Pod{}
	next.Nodes[3] = &changed
	if got := worked(&next); got != (Worked{Nodes: 1}) {
		t.Errorf("%+v was worked out for one node that has changed", got)
	}
	q.Forget()
	for range idleRounds + 1 {
		if len(q.spare) != 1 {
			t.Errorf("%d memories are kept, want that of the other only", len(q.spare))
		}
		q.Release()
	}
	if len(q.spare) != 0 {
		t.Errorf("%d memories are kept that nobody needs", len(q.spare))
	}
}
