package pack_test

import (
	"fmt"
	"testing"

	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/sim/scenario"
)

// BenchmarkSolve is the usual shape: an empty cluster, 400 generated types, pods in five equal parts.
func BenchmarkSolve(b *testing.B) {
	for _, pods := range []int{100, 1000, 5000, 20000} {
		b.Run(fmt.Sprintf("pods=%d", pods), func(b *testing.B) {
			p := scenario.Generate(pods, 400, 1)
			b.ReportAllocs()
			b.ResetTimer()
			nodes, price := 0, int64(0)
			for b.Loop() {
				out := pack.Solve(p)
				if len(out.Unplaced) > 0 {
					b.Fatalf("%d classes unplaced: %s", len(out.Unplaced), out.Unplaced[0].Reasons[0].Text())
				}
				nodes, price = len(out.NewNodes), int64(out.Price)
			}
			b.ReportMetric(float64(pods*b.N)/b.Elapsed().Seconds(), "pods/s")
			b.ReportMetric(float64(nodes), "nodes")
			b.ReportMetric(float64(price)/1e6, "$/h")
		})
	}
}

// BenchmarkSolveOnePod is what a lone pod waits for: everything but the placement itself, over all types of a region.
func BenchmarkSolveOnePod(b *testing.B) {
	types, err := scenario.EC2Types("us-east-1", nil, nil)
	if err != nil {
		b.Fatal(err)
	}
	p := scenario.Generate(1, 1, 1)
	for _, pool := range p.Pools {
		pool.Types = types
	}
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		if out := pack.Solve(p); len(out.NewNodes) != 1 {
			b.Fatal(out)
		}
	}
	b.ReportMetric(float64(len(types)), "types")
}
