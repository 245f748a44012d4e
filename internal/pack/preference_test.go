package pack_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/kerf-sh/kerf/internal/cluster"
	"github.com/kerf-sh/kerf/internal/pack"
	"github.com/kerf-sh/kerf/internal/plan"
)

func placedPods(p *plan.Plan) map[cluster.PodRef]bool {
	out := map[cluster.PodRef]bool{}
	for _, n := range p.NewNodes {
		for _, ref := range n.Pods {
			out[ref] = true
		}
	}
	for _, n := range p.Placements {
		for _, ref := range n.Pods {
			out[ref] = true
		}
	}
	return out
}

// Whatever the policy, wishes are no reason to leave a pod without a node that could be bought for it.
func TestWishesLeaveNoPodBehind(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t, false)
		p.Nodes = nil
		for _, pool := range p.Pools {
			pool.Limits = nil
		}
		ignore := *p
		ignore.Options.IgnorePreferences = true
		want := placedPods(pack.Solve(&ignore))
		for _, share := range []float64{0, -1} {
			with := *p
			with.Options.IgnorePreferences, with.Options.PreferenceShare = false, share
			out := pack.Solve(&with)
			for ref := range want {
				if !placedPods(out)[ref] {
					t.Fatalf("share %v: %s is left without a node\n%s", share, ref, out)
				}
			}
		}
	})
}

// Wishes that have a price stay within their share.
func TestWishesStayWithinTheirShare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t, false)
		p.Nodes = nil
		for _, pool := range p.Pools {
			pool.Limits, pool.Taints = nil, nil
		}
		share := rapid.SampledFrom([]float64{0.0001, 0.5, 3}).Draw(t, "theShare")
		p.Options.IgnorePreferences, p.Options.PreferenceShare = false, share
		ignore := *p
		ignore.Options.IgnorePreferences = true
		without, with := pack.Solve(&ignore), pack.Solve(p)
		if a, b := len(placedPods(without)), len(placedPods(with)); b < a {
			t.Fatalf("%d pods are placed, %d without wishes\n%s\nwithout:\n%s", b, a, with, without)
		}
		if most := float64(without.Price)*(1+share) + 10; float64(with.Price) > most {
			t.Fatalf("costs %s, %s without wishes\n%s\nwithout:\n%s", plan.Dollars(with.Price), plan.Dollars(without.Price), with, without)
		}
	})
}
