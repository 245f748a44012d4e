package pack

import (
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
)

// SameQuestions reports whether a WhatIf of one problem answers as one of the other does: they differ in nothing but their
// generation, and in the time only so far that it makes no difference. Nodes, pods and types are taken to be the same when
// their pointers are.
//
// Cost: one comparison for each node and pending pod; for each pod where a limit or a reservation may run out.
func SameQuestions(a, b *Problem) bool {
	if !slices.Equal(a.Nodes, b.Nodes) || !slices.Equal(a.Pending, b.Pending) || !sameRest(a, b) {
		return false
	}
	if a.Now.Equal(b.Now) || !slices.ContainsFunc(b.Pools, mayRunOut) {
		return true
	}
	for _, pod := range oldest(b) {
		if agedAt(a.Now, pod) != agedAt(b.Now, pod) {
			return false
		}
	}
	return true
}

// mayRunOut reports whether there is an end to what can be launched of the pool, so that the age of pods counts.
func mayRunOut(p *cluster.Pool) bool {
	return len(p.Limits) > 0 || slices.ContainsFunc(p.Types, func(t *catalog.Type) bool {
		for i := range t.Offerings { // there are tens of thousands, which are not to be copied for this
			if t.Offerings[i].CapacityType == catalog.Reserved {
				return true
			}
		}
		return false
	})
}

// oldest is a pod of each class than which no other of the class is older.
func oldest(p *Problem) map[*cluster.Class]*cluster.Pod {
	out := map[*cluster.Class]*cluster.Pod{}
	look := func(pods []*cluster.Pod) {
		for _, pod := range pods {
			if known := out[pod.Class]; known == nil || pod.CreatedAt.Before(known.CreatedAt) {
				out[pod.Class] = pod
			}
		}
	}
	look(p.Pending)
	for _, n := range p.Nodes {
		look(n.Pods)
	}
	return out
}
