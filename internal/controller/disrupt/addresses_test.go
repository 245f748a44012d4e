package disrupt

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
)

type makesProblem = func(context.Context, *cluster.Snapshot, int) *pack.Problem

// withoutAddresses makes problems in which zone a has no free address, as far as one is asked for.
func withoutAddresses(problem makesProblem) makesProblem {
	return func(ctx context.Context, s *cluster.Snapshot, nodes int) *pack.Problem {
		p := problem(ctx, s, nodes)
		for i, pool := range p.Pools {
			full := *pool
			if full.Subnets = nil; nodes > 0 {
				full.Subnets = []cluster.Subnet{{ID: "subnet-a", Zone: "a", Free: int64(nodes) - 1}}
			}
			p.Pools[i] = &full
		}
		return p
	}
}

// TestConsolidationAsksForAddressesOfAsManyNodesAsItMayReplace, also while no pod waits.
func TestConsolidationAsksForAddressesOfAsManyNodesAsItMayReplace(t *testing.T) {
	for budget, want := range map[string]int{"100%": 3, "2": 2, "0": 0} {
		t.Run(budget, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newTestCluster(t)
				h.budgets(budget)
				for _, name := range []string{"c1", "c2", "c3"} {
					h.bind("p-"+name, h.instance(name).Node)
				}
				asked := -1
				h.run(func(l *Loop) {
					problem := l.Problem
					l.Problem = func(ctx context.Context, s *cluster.Snapshot, nodes int) *pack.Problem {
						if asked < 0 {
							asked = nodes
						}
						return problem(ctx, s, nodes)
					}
				})
				h.pass(2 * time.Minute)
				if asked != want {
					t.Errorf("addresses are asked for of %d nodes, want %d", asked, want)
				}
				h.end()
			})
		})
	}
}
