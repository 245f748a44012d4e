package disrupt

import (
	"slices"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// reserved for is how long the room of a replacement that was taken over is kept for the pods that leave.
const reservedFor = 20 * time.Minute

// reserve keeps the room of the replacements that were taken over for the pods that leave, so that nothing else takes it
// and no replacement goes for being empty while they are on their way. The decision that placed the pods is lost with the
// former leader: they are reserved for the first instance on which there is room, and the scheduler does as it likes.
//
// It is called at the takeover, and again before the nodes go: what this process sees at first may not be all yet.
func (q *Queue) reserve(f *execution) {
	if len(f.claims) == 0 || f.failed != "" {
		return
	}
	var leave []*cluster.Pod
	var coming []*cluster.Node
	for _, n := range q.State.Snapshot().Nodes {
		switch {
		case slices.Contains(f.claims, n.Claim):
			coming = append(coming, n)
		case slices.ContainsFunc(f.Nodes, func(g Going) bool { return g.Node == n.Name }):
			for _, p := range n.Pods {
				if p.Node == n.Name && pack.Movable(p) {
					leave = append(leave, p)
				}
			}
		}
	}
	for _, n := range coming {
		leave = slices.DeleteFunc(leave, func(p *cluster.Pod) bool {
			return slices.ContainsFunc(n.Pods, func(has *cluster.Pod) bool { return has.PodRef == p.PodRef }) // it is reserved for that
		})
	}
	until := q.Clock.Now().Add(reservedFor)
	for _, n := range coming {
		used := res.List{}
		used.Add(n.Used)
		var take []cluster.PodRef
		leave = slices.DeleteFunc(leave, func(p *cluster.Pod) bool {
			for k, v := range p.Class.Requests {
				if used[k]+v > n.Allocatable[k] {
					return false
				}
			}
			used.Add(p.Class.Requests)
			take = append(take, p.PodRef)
			return true
		})
		if len(take) > 0 {
			q.State.Reserve(n, take, until)
		}
	}
}
