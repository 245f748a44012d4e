package pack_test

import (
	"testing"

	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/sim/scenario"
)

// BenchmarkSolveAgain is what comes after a change: a cluster of 5,000 nodes with ten pods each, and as many new pods as
// are one in a hundred of those that run, or one in a thousand.
func BenchmarkSolveAgain(b *testing.B) {
	for name, pending := range map[string]int{"one-in-100": 500, "one-in-1000": 50, "none": 0} {
		b.Run(name, func(b *testing.B) {
			p := must(b)(scenario.Large(pending, 50, 5000, 50, 1))
			e := pack.NewEngine()
			e.Solve(p)
			b.ReportAllocs()
			b.ResetTimer()
			for b.Loop() {
				e.Solve(p)
			}
		})
	}
}
