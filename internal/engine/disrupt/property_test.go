package disrupt_test

import (
	"testing"

	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/verify"
	"github.com/kerf-sh/kerf/internal/sim/scenario"
)

func TestFragmentedClustersShrinkRoundByRound(t *testing.T) {
	for _, f := range []scenario.Fragmentation{
		{Nodes: 40, Seed: 1}, {Nodes: 60, Topology: true, Seed: 2}, {Nodes: 40, Spot: true, Seed: 3},
		{Nodes: 60, Spot: true, Topology: true, Seed: 4},
	} {
		f.Pods, f.Percent = 10, 30
		c := fragmented(t, f)
		for round := 1; ; round++ {
			p := anyway(c)
			d := disrupt.Decide(p)
			for _, v := range verify.Moves(p, d) {
				t.Errorf("%+v round %d: %s", f, round, v)
			}
			if len(d.Moves) == 0 || t.Failed() {
				break
			}
			if d.After >= d.Before {
				t.Errorf("%+v round %d: the bill does not shrink", f, round)
			}
			if round == 30 {
				t.Fatalf("%+v: no end after %d rounds", f, round)
			}
			c = carryOut(c, d)
		}
	}
}
