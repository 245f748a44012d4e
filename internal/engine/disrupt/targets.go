package disrupt

import (
	"cmp"
	"slices"
)

// target is a node that may take pods.
type target struct {
	id    int
	late  int // 0: it stays; larger: it goes sooner
	usage float64
}

// setTargets orders the nodes that may take pods: those that stay first, then those that expire soon, then those that are due to be
// replaced; of each the best used first. Nodes for which goes holds take none.
func (s *search) setTargets(goes func(*nodeState) bool) {
	var targets []target
	for id, n := range s.nodes {
		t := target{id: id, usage: 2} // nodes that are not managed stay anyway
		if n != nil {
			if goes(n) {
				continue
			}
			t.usage = n.usage()
			if len(n.blocks) > 0 {
				t.usage++ // it stays, so that filling it is free
			}
			switch left := n.in.LifetimeLeft; {
			case n.due:
				t.late = 2
			case left > 0 && left < s.p.Options.savingsHorizon():
				t.late = 1
			}
		}
		targets = append(targets, t)
	}
	slices.SortFunc(targets, func(a, b target) int {
		return cmp.Or(cmp.Compare(a.late, b.late), cmp.Compare(b.usage, a.usage), cmp.Compare(a.id, b.id))
	})
	order := make([]int, len(targets))
	for i, t := range targets {
		order[i] = t.id
	}
	s.w.SetTargets(order)
}
