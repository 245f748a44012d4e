package disrupt_test

import (
	"testing"

	"github.com/kerf-sh/kerf/internal/disrupt"
	"github.com/kerf-sh/kerf/internal/scenario"
)

func TestZZ(t *testing.T) {
	f := scenario.Fragmentation{Nodes: 300, Pods: 15, Percent: 30, Seed: 1}
	c := fragmented(t, f)
	for {
		d := disrupt.Decide(anyway(c))
		if len(d.Moves) == 0 {
			break
		}
		c = carryOut(c, d)
	}
	disrupt.Dump(anyway(c))
}
