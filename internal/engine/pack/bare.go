package pack

import (
	"fmt"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// bareProtocol is of no real port: it takes each placeholder a new node of its own and collides with nothing else.
const bareProtocol = "bare"

// Bare chooses n new nodes of a pool that no pod has asked for: what the pool's template allows, cheapest first, with room
// for the daemons of such a node. They are chosen as new nodes for pods are, so that limits, reservations, addresses and
// minValues count alike. Where there are fewer than n, reasons say why.
//
// The pool's Limits and Used bound the number. The new nodes' Pods are empty.
func Bare(pool *cluster.Pool, daemons []cluster.Daemon, now time.Time, o Options, n int) (nodes []plan.NewNode, reasons []plan.Reason) {
	class := &cluster.Class{
		ID: "bare", Requests: res.List{}, Tolerations: []cluster.Toleration{{Exists: true}},
		HostPorts: []cluster.HostPort{{Port: 1, Protocol: bareProtocol}},
	}
	o.Work = -1 // no two of them fit on one new node
	p := &Problem{Now: now, Pools: []*cluster.Pool{pool}, Daemons: daemons, Options: o}
	for i := range n {
		name := fmt.Sprintf("bare-%06d", i)
		p.Pending = append(p.Pending, &cluster.Pod{PodRef: cluster.PodRef{Name: name, UID: name}, Class: class})
	}
	solved := Solve(p)
	for i := range solved.NewNodes {
		solved.NewNodes[i].Pods = nil
		solved.NewNodes[i].Why = fmt.Sprintf("NodePool %s keeps a fixed number of nodes", pool.Name)
	}
	for _, u := range solved.Unplaced {
		reasons = append(reasons, u.Reasons...)
	}
	return solved.NewNodes, reasons
}
