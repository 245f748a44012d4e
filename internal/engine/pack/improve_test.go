package pack_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/sim/scenario"
)

func TestImprovingNeverMakesAPlanDearer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t, rapid.Bool().Draw(t, "topology"))
		p.Options.PriceGuard = 0 // other nodes may be too dear
		plain := *p
		plain.Options.Work = -1
		first := pack.Solve(&plain)
		out := pack.Solve(p)
		if out.Price > first.Price {
			t.Fatalf("improved from %d to %d", first.Price, out.Price)
		}
		if bytesOf(t, out.Unplaced) != bytesOf(t, first.Unplaced) || bytesOf(t, out.Placements) != bytesOf(t, first.Placements) {
			t.Fatal("improving changed more than new nodes")
		}
		if first.Stats.Work != 0 {
			t.Fatalf("spent %d on improving although told not to", first.Stats.Work)
		}
	})
}

func TestImprovingSaysWhatItDidNotLookAt(t *testing.T) {
	cases := map[string]struct {
		work       int64
		unimproved bool
	}{
		"a budget that ends at once leaves instances as they are": {1, true},
		"a budget that is not used up leaves nothing":             {1 << 40, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := scenario.Generate(20, 20, 1)
			p.Options.Work = tc.work
			out := pack.Solve(p)
			if got := out.Stats.Unimproved > 0; got != tc.unimproved {
				t.Errorf("%d instances not improved after %d of %d units of work", out.Stats.Unimproved, out.Stats.Work, tc.work)
			}
			if tc.unimproved && out.Stats.Unimproved > len(out.NewNodes) {
				t.Errorf("%d of %d instances not improved", out.Stats.Unimproved, len(out.NewNodes))
			}
		})
	}
}

// What the plan for a mixture costs is known; it may fall, but not rise.
func TestMixturesCostLittleMoreThanTheirFloor(t *testing.T) {
	p, err := scenario.Mix(2000, 1)
	if err != nil {
		t.Fatal(err)
	}
	plain := *p
	plain.Options.Work = -1
	first, out := pack.Solve(&plain), pack.Solve(p)
	if float64(out.Price) > 0.97*float64(first.Price) {
		t.Errorf("improving saves less than 3 %%: %d, at first %d", out.Price, first.Price)
	}
}
