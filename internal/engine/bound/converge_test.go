package bound_test

import (
	"testing"

	"github.com/kerf-sh/kerf/internal/engine/bound"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/sim/scenario"
)

func TestTheSearchComesToItsEndAndCountsWholePods(t *testing.T) {
	plain := scenario.Generate(1000, 1, 1)
	types, err := scenario.ServerTypes("us-east-1", 3)
	if err != nil {
		t.Fatal(err)
	}
	plain.Pending, plain.Pools[0].Types = plain.Pending[:200], types
	for name, c := range map[string]struct {
		p *pack.Problem
		// least is what has to be proven, in micro-USD.
		least catalog.MicroUSD
	}{
		"pods of 30 sizes on the real types of a region": {plain, 673_000},
		"parts that keep apart, on generated types":      {scenario.Generate(100, 60, 1), 960_000},
	} {
		t.Run(name, func(t *testing.T) {
			c.p.Options.Work = -1
			r := bound.Lower(c.p, pack.Solve(c.p), bound.Budget{})
			if !r.Converged || r.Open > 2e-4 || r.Open < 0 {
				t.Errorf("converged %v (%s), open %v", r.Converged, r.Stopped, r.Open)
			}
			if r.Bound < c.least {
				t.Errorf("bound %d; the best values prove %d", r.Bound, c.least)
			}
			t.Log(r.Bound, r.Price, r.Work)
		})
	}
}
