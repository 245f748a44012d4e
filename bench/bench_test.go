package bench_test

import (
	"strings"
	"testing"

	"github.com/kerf-sh/kerf/bench"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/sim/scenario"
)

// The figures mean something only when both engines answer the same question, and both answers stand before the judge.
func TestBothEnginesAnswer(t *testing.T) {
	for name, make := range map[string]func() (*pack.Problem, error){
		"pods in five parts":      func() (*pack.Problem, error) { return scenario.Generate(60, 50, 3), nil },
		"real types and prices":   func() (*pack.Problem, error) { return scenario.Mix(60, 3) },
		"nodes and hopeless pods": func() (*pack.Problem, error) { return scenario.Field(20, 20, 20, 3) },
	} {
		t.Run(name, func(t *testing.T) {
			r, err := bench.Compare(t.Context(), bench.Input{Name: name, Make: make}, bench.Options{Procs: 1})
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range r.Peer.Violations {
				// Upstream may settle a group of pods on two zones, when a first node's zone was open for a while.
				if v.Rule != "affinity" {
					t.Errorf("upstream's plan: %s", v)
				}
			}
			if r.Kerf.Unplaced > r.Peer.Unplaced {
				t.Errorf("Kerf leaves %d pods, upstream %d", r.Kerf.Unplaced, r.Peer.Unplaced)
			}
			if r.Kerf.Price > r.Peer.Price {
				t.Errorf("Kerf's plan costs %d, upstream's %d", r.Kerf.Price, r.Peer.Price)
			}
			if r.Bound <= 0 || r.Kerf.Price < r.Bound || r.Peer.Gap < 0 {
				t.Errorf("bound %d, Kerf %d, upstream's gap %f", r.Bound, r.Kerf.Price, r.Peer.Gap)
			}
		})
	}
}

func TestBothEnginesThinOut(t *testing.T) {
	in := bench.Input{Name: "small", Consolidate: true, Make: func() (*pack.Problem, error) {
		return scenario.Fragmented(scenario.Fragmentation{Nodes: 8, Pods: 5, Percent: 30, Seed: 3})
	}}
	r, err := bench.Consolidate(t.Context(), in, bench.Options{Procs: 1, Rounds: 20})
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]bench.Thinning{"Kerf": r.Kerf, "upstream": r.Peer, "Kerf as it ships": r.Ships} {
		if s.After >= r.Before || s.After < r.Bound || !s.Ended {
			t.Errorf("%s: %d to %d in %d rounds, ended %v, bound %d", name, r.Before, s.After, s.Rounds, s.Ended, r.Bound)
		}
	}
	if r.Kerf.After > r.Peer.After {
		t.Errorf("Kerf ends at %d, upstream at %d", r.Kerf.After, r.Peer.After)
	}
	var b strings.Builder
	for _, table := range bench.Tables(nil, []*bench.Thinned{r}, nil) {
		if err := table.Markdown(&b); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(b.String(), "| small | Kerf, as it ships |") {
		t.Error(b.String())
	}
}

// The kept engine's plans are those of a new one, or Steady ends in an error.
func TestAKeptEngineDecidesAgain(t *testing.T) {
	for _, percent := range []int{0, 10} {
		r, err := bench.Steady(bench.SteadyInput{Name: "small", Nodes: 20, Pending: 40, Percent: percent}, bench.Options{Procs: 1})
		if err != nil {
			t.Fatal(err)
		}
		if want := 6 * percent / 10; r.Changes != want || r.Kept.Allocs >= r.Anew.Allocs {
			t.Errorf("%d changes, want %d; %d allocations, %d anew", r.Changes, want, r.Kept.Allocs, r.Anew.Allocs)
		}
	}
}
