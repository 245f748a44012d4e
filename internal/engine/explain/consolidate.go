package explain

import (
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/pack"
)

// computedNow says what an answer about consolidation is worth that no controller recorded.
const computedNow = `No decision on consolidation is recorded; this one was computed now, of the cluster as that decision saw it. It takes every
pool's policy for WhenEmptyOrUnderutilized, and knows no disruption budgets and no annotations of pods.`

// consolidate decides about the nodes of a recorded problem.
//
// Cost: that of disrupt.Decide, a second or so for thousands of nodes.
func consolidate(p *pack.Problem) *disrupt.Decision {
	q := &disrupt.Problem{Cluster: lasting(p)}
	p = q.Cluster
	for _, n := range p.Nodes {
		if n.Claim != "" && !n.Deleting {
			q.Nodes = append(q.Nodes, disrupt.Node{Name: n.Name, Blocks: blocks(n)})
		}
	}
	for _, pool := range p.Pools {
		q.Pools = append(q.Pools, disrupt.Pool{Name: pool.Name, Policy: disrupt.WhenEmptyOrUnderutilized})
	}
	return disrupt.Decide(q)
}

// lasting is the problem at the prices that the controller would decide by. A record of a decision on pods has those of
// the moment.
func lasting(p *pack.Problem) *pack.Problem {
	out := *p
	out.Pools = make([]*cluster.Pool, len(p.Pools))
	for i, pool := range p.Pools {
		own := *pool
		out.Pools[i] = &own
	}
	var prices cluster.Lasting
	out.Nodes = prices.Apply(p.Nodes, out.Pools)
	return &out
}

// blocks are the reasons against touching the node that the record knows.
func blocks(n *cluster.Node) []disrupt.Reason {
	var out []disrupt.Reason
	if !n.Initialized {
		out = append(out, disrupt.Reason{Code: disrupt.NotInitialized})
	}
	if n.DoNotDisrupt {
		out = append(out, disrupt.Reason{Code: disrupt.DoNotDisrupt})
	}
	return out
}
