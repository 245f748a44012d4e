package pack_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/verify"
)

// placeable reports whether some new node of some pool, or a node as it is, carries the pod by itself, found by trying
// every pool, type and way to launch it with the independent check as the judge.
func placeable(p *pack.Problem, pod *cluster.Pod) bool {
	alone := *p
	alone.Pending = []*cluster.Pod{pod}
	good := func(out *plan.Plan) bool { return len(verify.Check(&alone, out)) == 0 }
	for _, n := range p.Nodes {
		if good(&plan.Plan{Placements: []plan.Placement{{Node: n.Name, Pods: []cluster.PodRef{pod.PodRef}}}}) {
			return true
		}
	}
	for _, pool := range p.Pools {
		for _, t := range pool.Types {
			for _, o := range t.Offerings {
				for _, team := range teams {
					if good(launchOne(pool, t, o, team, pod)) {
						return true
					}
				}
			}
		}
	}
	return false
}

func launchOne(pool *cluster.Pool, t *catalog.Type, o catalog.Offering, team string, pod *cluster.Pod) *plan.Plan {
	price := o.Price
	reqs := []requirement.Term{in(requirement.Zone, o.Zone), in(requirement.CapacityType, o.CapacityType)}
	if slices.ContainsFunc(pool.Requirements, func(x requirement.Term) bool { return x.Key == "team" }) {
		reqs = append(reqs, in("team", team))
	}
	return &plan.Plan{Price: price, NewNodes: []plan.NewNode{{Pool: pool.Name, Price: price, Requirements: reqs, Pods: []cluster.PodRef{pod.PodRef},
		Types: []plan.TypeChoice{{Name: t.Name, Price: price, Zone: o.Zone, CapacityType: o.CapacityType}}}}}
}

// acceptOneChoice lets pools take nodes that leave a single choice, as those of the search do, at any price.
func acceptOneChoice(p *pack.Problem) {
	p.Options.PriceGuard = 0
	for _, pool := range p.Pools {
		pool.Requirements = slices.DeleteFunc(pool.Requirements, func(x requirement.Term) bool { return x.MinValues > 0 })
	}
}

// Pods without topology don't hinder each other as long as new nodes may be launched: none may be left that exhaustive
// search can place, and none placed that it can't.
func TestNoPodIsLeftThatExhaustiveSearchPlaces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t, false)
		p.Nodes = nil
		makeEndless(p)
		acceptOneChoice(p)
		out := pack.Solve(p)
		unplaced := map[cluster.PodRef]bool{}
		for _, u := range out.Unplaced {
			for _, ref := range u.Pods {
				unplaced[ref] = true
			}
		}
		for _, pod := range p.Pending {
			if can := placeable(p, pod); can == unplaced[pod.PodRef] {
				t.Fatalf("%s: exhaustive search places it: %v\n%s", pod, can, out)
			}
		}
	})
}

// With topology, a single pod next to a running cluster is placed exactly when exhaustive search can place it.
func TestALonePodIsPlacedWheneverItCanBe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t, true)
		p.Pending = p.Pending[:1]
		acceptOneChoice(p)
		out := pack.Solve(p)
		if can := placeable(p, p.Pending[0]); can == (len(out.Unplaced) > 0) {
			t.Fatalf("exhaustive search places it: %v\n%s", can, out)
		}
	})
}
