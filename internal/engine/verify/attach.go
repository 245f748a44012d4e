package verify

import (
	"maps"
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// volumes counts what is attached to the host by driver: each pod's own volumes, and those that are shared once.
func (h *host) volumes() res.List {
	count := res.List{}
	once := map[cluster.SharedVolume]bool{}
	for _, pod := range slices.Concat(h.running, h.placed) {
		count.Add(pod.Class.Attach)
		for _, v := range pod.Class.Shared {
			once[v] = true
		}
	}
	for v := range once {
		count[v.Driver]++
	}
	return count
}

// attachments checks the number of volumes of drivers that the pods to come use.
func (c *checker) attachments(h *host, what string, limits res.List) {
	uses := func(class *cluster.Class) bool { return len(class.Attach)+len(class.Shared) > 0 }
	if !slices.ContainsFunc(h.classes, uses) {
		return
	}
	used := map[string]bool{}
	for _, class := range h.classes {
		for driver := range class.Attach {
			used[driver] = true
		}
		for _, v := range class.Shared {
			used[v.Driver] = true
		}
	}
	count := h.volumes()
	for _, driver := range slices.Sorted(maps.Keys(used)) {
		if most, limited := limits[driver]; limited && count[driver] > most {
			c.report("volumes", h.name, "%d of %s, %s attaches %d", count[driver], driver, what, most)
		}
	}
}
