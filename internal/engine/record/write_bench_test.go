package record_test

import (
	"testing"

	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/record"
	"github.com/kerf-sh/kerf/internal/sim/scenario"
)

// BenchmarkEncode writes the decision on ten pods that came to 1,000 nodes with 20 pods each.
func BenchmarkEncode(b *testing.B) {
	p, err := scenario.Fragmented(scenario.Fragmentation{Nodes: 1000, Pods: 20, Percent: 60, Seed: 1})
	if err != nil {
		b.Fatal(err)
	}
	p.Pending = scenario.GeneratePods(10, 1)
	d := &record.Decision{Kerf: "test", Problem: p, Plan: pack.Solve(p)}
	first, err := record.Encode(d, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := record.Encode(d, first.Types()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(first.Size()-first.Types().Size()), "file-bytes")
}
