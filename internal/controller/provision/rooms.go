package provision

import (
	"github.com/kerf-sh/kerf/internal/controller/apply"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/state/cache"
)

// virtualPods are the pods that stand for room to be kept free; nil when there are none.
func virtualPods(pending []*cluster.Pod) map[cluster.PodRef]bool {
	var out map[cluster.PodRef]bool
	for _, p := range pending {
		if p.Class == nil || !p.Class.Virtual {
			continue
		}
		if out == nil {
			out = map[cluster.PodRef]bool{}
		}
		out[p.PodRef] = true
	}
	return out
}

// existing counts the pods that exist.
func existing(pods []cluster.PodRef, virtual map[cluster.PodRef]bool) int {
	n := len(pods)
	if len(virtual) == 0 {
		return n
	}
	for _, p := range pods {
		if virtual[p] {
			n--
		}
	}
	return n
}

// rooms tells of each virtual pod of the problem where the plan, as far as it was carried out, has room for it.
func rooms(problem *pack.Problem, p *plan.Plan, out apply.Outcome, virtual map[cluster.PodRef]bool) []cache.Room {
	if len(virtual) == 0 {
		return nil
	}
	found := map[cluster.PodRef]cache.Room{}
	put := func(pods []cluster.PodRef, room cache.Room) {
		for _, ref := range pods {
			if virtual[ref] {
				room.Pod = ref
				found[ref] = room
			}
		}
	}
	nodes := map[string]*cluster.Node{}
	for _, n := range problem.Nodes {
		nodes[n.Name] = n
	}
	for _, x := range p.Placements {
		room := cache.Room{State: cache.RoomOrdered, Node: nodes[x.Node]}
		if room.Node != nil && room.Node.Initialized {
			room.State = cache.RoomReady
		}
		put(x.Pods, room)
	}
	for i := range p.NewNodes {
		put(p.NewNodes[i].Pods, cache.Room{Why: "the instance planned for it was not launched; it is tried again"})
	}
	for _, x := range out.Created {
		put(x.Planned.Pods, cache.Room{State: cache.RoomOrdered, Claim: x.Claim})
	}
	for _, u := range p.Unplaced {
		put(u.Pods, cache.Room{Why: apply.Explain(u.Reasons)})
	}
	list := make([]cache.Room, 0, len(virtual))
	for _, pod := range problem.Pending {
		if !virtual[pod.PodRef] {
			continue
		}
		room, ok := found[pod.PodRef]
		if !ok {
			room = cache.Room{Why: "the plan for it was dropped"}
		}
		room.Pod = pod.PodRef
		list = append(list, room)
	}
	return list
}
