package pack_test

import (
	"testing"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/sim/scenario"
)

// passes are the inputs of bench/ whose time is compared with upstream's, under the same names.
var passes = []workload{
	{"generic-100", func(testing.TB) *pack.Problem { return scenario.Generate(100, 400, 1) }},
	{"generic-1000", func(testing.TB) *pack.Problem { return scenario.Generate(1000, 400, 1) }},
	{"generic-5000", func(testing.TB) *pack.Problem { return scenario.Generate(5000, 400, 1) }},
	{"generic-20000", func(testing.TB) *pack.Problem { return scenario.Generate(20000, 400, 1) }},
	{"prefer-400", func(testing.TB) *pack.Problem { return apartIfCheap(400) }},
	{"prefer-4000", func(testing.TB) *pack.Problem { return apartIfCheap(4000) }},
	{"prefer-4000-ignored", func(testing.TB) *pack.Problem {
		p := apartIfCheap(4000)
		p.Options.IgnorePreferences = true
		return p
	}},
	{"mix-2000", func(tb testing.TB) *pack.Problem {
		p := must(tb)(scenario.Mix(2000, 1))
		p.Pools[0].Requirements = append(p.Pools[0].Requirements, in("karpenter.k8s.aws/instance-category", "c", "m", "r"))
		return p
	}},
	{"openb-500", func(tb testing.TB) *pack.Problem { return openb(tb, 2000, 500) }},
	{"field-1060", func(tb testing.TB) *pack.Problem { return must(tb)(scenario.Field(1060, 1700, 470, 1)) }},
	{"large", func(tb testing.TB) *pack.Problem { return must(tb)(scenario.Large(100_000, 2000, 5000, 50, 1)) }},
}

// apartIfCheap is the usual sizes of pods, each of which would rather not share a host with any other.
func apartIfCheap(pods int) *pack.Problem {
	p := scenario.Generate(pods, 400, 1)
	interned := map[string]*cluster.Class{}
	for _, pod := range p.Pending {
		c := &cluster.Class{Namespace: "default", Labels: map[string]string{"app": "nginx"}, Requests: pod.Class.Requests}
		c.AntiAffinity = []cluster.PodAffinity{{Key: requirement.Hostname, Namespaces: []string{"default"}, Weight: 1,
			Selector: &cluster.Selector{Terms: []requirement.Term{in("app", "nginx")}}}}
		c.ID = c.Hash()
		if interned[c.ID] == nil {
			interned[c.ID] = c
		}
		pod.Class = interned[c.ID]
	}
	return p
}

// BenchmarkPass times one pass over each input of bench/: the first plan alone, and the plan that ships.
func BenchmarkPass(b *testing.B) {
	for _, w := range passes {
		b.Run(w.name, func(b *testing.B) {
			p := w.make(b)
			first := *p
			first.Options.Work = -1
			b.Run("first", func(b *testing.B) { timePass(b, &first) })
			b.Run("shipped", func(b *testing.B) { timePass(b, p) })
		})
	}
}

func timePass(b *testing.B, p *pack.Problem) {
	b.ReportAllocs()
	out := pack.Solve(p)
	b.ResetTimer()
	before := processorTime(b)
	for b.Loop() {
		pack.Solve(p)
	}
	used := processorTime(b) - before
	b.ReportMetric(used.Seconds()*1000/float64(b.N), "cpu-ms/op")
	b.ReportMetric(float64(len(out.NewNodes)), "nodes")
	b.ReportMetric(float64(out.Price)/1e6, "$/h")
	b.ReportMetric(0, "ns/op")
}
