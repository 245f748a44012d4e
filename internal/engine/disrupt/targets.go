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

// inOrder are the nodes in the order in which they are filled: what stays before what goes, the best used first.
func inOrder(targets []target) []int {
	slices.SortFunc(targets, func(a, b target) int {
		return cmp.Or(cmp.Compare(a.late, b.late), cmp.Compare(b.usage, a.usage), cmp.Compare(a.id, b.id))
	})
	ids := make([]int, len(targets))
	for i, t := range targets {
		ids[i] = t.id
	}
	return ids
}
