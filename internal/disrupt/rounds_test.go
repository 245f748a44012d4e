package disrupt_test

import (
	"fmt"
	"testing"

	"github.com/kerf-sh/kerf/internal/disrupt"
	"github.com/kerf-sh/kerf/internal/scenario"
)

// BenchmarkRounds repeats rounds until none saves anything more and compares the bill with the floor.
func BenchmarkRounds(b *testing.B) {
	for _, f := range []scenario.Fragmentation{{Nodes: 300}, {Nodes: 300, Topology: true}, {Nodes: 300, Spot: true},
		{Nodes: 300, Spot: true, Topology: true}, {Nodes: 2000}, {Nodes: 2000, Spot: true}} {
		f.Pods, f.Percent, f.Seed = 15, 30, 1
		b.Run(fmt.Sprintf("nodes=%d/spot=%v/topology=%v", f.Nodes, f.Spot, f.Topology), func(b *testing.B) {
			for b.Loop() {
				c := fragmented(b, f)
				floor := least(c)
				for round := 1; ; round++ {
					d := disrupt.Decide(anyway(c))
					b.Logf("round %d: %d moves, %s, $%.2f/h to $%.2f/h, floor $%.2f/h", round, len(d.Moves), d.Stats.Search,
						float64(d.Before)/1e6, float64(d.After)/1e6, float64(floor)/1e6)
					if len(d.Moves) == 0 || round == 20 {
						b.ReportMetric(float64(round), "rounds")
						b.ReportMetric(100*(float64(d.After)/float64(floor)-1), "%-over-floor")
						break
					}
					c = carryOut(c, d)
				}
			}
		})
	}
}
