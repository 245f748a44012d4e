package pack_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/sim/scenario"
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

// Whatever the policy, preferences are no reason to leave a pod without a node that could be launched for it.
func TestWishesLeaveNoPodBehind(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t, false)
		p.Nodes = nil
		makeEndless(p)
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

// Preferences that have a price stay within their share.
func TestWishesStayWithinTheirShare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t, false)
		p.Nodes = nil
		makeEndless(p)
		acceptOneChoice(p) // what a preference costs is worked out without regard to minValues
		for _, pool := range p.Pools {
			pool.Taints = nil
		}
		share := rapid.SampledFrom([]float64{0.0001, 0.5, 3}).Draw(t, "theShare")
		p.Options.IgnorePreferences, p.Options.PreferenceShare = false, share
		p.Options.Work = -1 // improvement starts from other plans, and what it finds can't be compared
		ignore := *p
		ignore.Options.IgnorePreferences = true
		without, with := pack.Solve(&ignore), pack.Solve(p)
		if a, b := len(placedPods(without)), len(placedPods(with)); b < a {
			t.Fatalf("%d pods are placed, %d without preferences\n%s\nwithout:\n%s", b, a, with, without)
		}
		// A new node less is worth its toll, which no price shows.
		fewer := max(0, len(without.NewNodes)-len(with.NewNodes))
		if most := float64(without.Price)*(1+share) + 10 + float64(pack.NodeToll)*float64(fewer); float64(with.Price) > most {
			t.Fatalf("costs %s, %s without preferences\n%s\nwithout:\n%s", with.Currency.Amount(with.Price), with.Currency.Amount(without.Price), with, without)
		}
	})
}

// BenchmarkSolvePreferences is 4,000 pods that prefer to be alone on their hosts.
func BenchmarkSolvePreferences(b *testing.B) {
	for name, options := range map[string]pack.Options{"priced": {}, "literal": {PreferenceShare: -1}, "ignored": {IgnorePreferences: true}} {
		b.Run(name, func(b *testing.B) {
			p := scenario.Generate(4000, 400, 1)
			options.WellKnown = p.Options.WellKnown
			p.Options = options
			for _, c := range classesOf(p) {
				c.Spreads, c.PodAffinity, c.AntiAffinity = nil, nil, []cluster.PodAffinity{{Key: requirement.Hostname, Namespaces: []string{c.Namespace}, Weight: 10,
					Selector: &cluster.Selector{Terms: []requirement.Term{in("app", "nginx")}}}}
				c.Labels = map[string]string{"app": "nginx"}
				c.ID = c.Hash()
			}
			b.ReportAllocs()
			b.ResetTimer()
			for b.Loop() {
				out := pack.Solve(p)
				b.ReportMetric(float64(len(out.NewNodes)), "nodes")
				b.ReportMetric(float64(out.Price)/1e6, "$/h")
				b.ReportMetric(float64(len(out.Declined)), "declined")
			}
			b.ReportMetric(float64(4000*b.N)/b.Elapsed().Seconds(), "pods/s")
		})
	}
}

func classesOf(p *pack.Problem) []*cluster.Class {
	seen := map[*cluster.Class]bool{}
	var out []*cluster.Class
	for _, pod := range p.Pending {
		if !seen[pod.Class] {
			seen[pod.Class] = true
			out = append(out, pod.Class)
		}
	}
	return out
}
