package conflict

import (
	"slices"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
)

// RunnersUp says what else would have been launched for the pods of a new node: the problem of just these pods and
// this pool, in the domains that the plan settled on, is solved again without the node's cheapest type, then without the
// types of that answer, and so on, up to most times. An answer that carries all pods for less is left out: the plan weighed more
// than this question does (the other pods, limits, addresses), so that its price was not to be had.
//
// Concurrency: safe; p and out are only read.
func RunnersUp(p *pack.Problem, out *plan.Plan, newNode, most int) *plan.Why {
	nn := out.NewNodes[newNode]
	why := &plan.Why{NewNode: newNode, Node: nn}
	at := slices.IndexFunc(p.Pools, func(x *cluster.Pool) bool { return x.Name == nn.Pool })
	if at < 0 || len(nn.Types) == 0 {
		return why
	}
	pool := copyPool(p.Pools[at])
	pool.Limits, pool.Subnets = nil, nil
	pool.Requirements = append(pool.Requirements, nn.LaunchTerms()...)
	own := &pack.Problem{Now: p.Now, Generation: p.Generation, Pools: []*cluster.Pool{pool}, Daemons: p.Daemons, Options: p.Options}
	for _, pod := range p.Pending {
		if slices.Contains(nn.Pods, pod.PodRef) {
			own.Pending = append(own.Pending, pod)
		}
	}
	without := []string{nn.Types[0].Name}
	for range most {
		pool.Types = slices.Clone(pool.Types)
		last := without[len(without)-1]
		for i, t := range pool.Types {
			if t.Name == last {
				pool.Types = slices.Delete(pool.Types, i, i+1)
				break
			}
		}
		next := pack.Solve(own)
		r := plan.RunnerUp{Without: slices.Clone(without), Price: next.Price}
		for _, n := range next.NewNodes {
			r.Nodes = append(r.Nodes, n.Types[0])
		}
		for _, u := range next.Unplaced {
			r.Unplaced = append(r.Unplaced, u.Pods...)
		}
		with := func(price catalog.MicroUSD, nodes int) catalog.MicroUSD {
			return price + catalog.MicroUSD(nodes)*p.Options.Upkeep
		}
		if len(r.Unplaced) > 0 || with(r.Price, len(r.Nodes)) >= with(nn.Price, 1) {
			why.RunnersUp = append(why.RunnersUp, r)
		}
		if len(next.NewNodes) == 0 {
			break
		}
		without = append(without, next.NewNodes[0].Types[0].Name)
	}
	return why
}
