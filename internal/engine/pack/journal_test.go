package pack_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/sim/scenario"
)

// drawCluster carries the plan of a drawn problem out, and draws what pools have of addresses, and further pods that wait.
func drawCluster(t *rapid.T) *pack.Problem {
	p := drawProblem(t, true)
	e := scenario.New()
	e.Problem = p
	if _, err := e.Run("apply", ""); err != nil {
		t.Fatal(err)
	}
	p.Pending = nil
	for _, n := range p.Nodes {
		n.Initialized, n.Registered = true, true
	}
	for _, pool := range p.Pools {
		if rapid.Bool().Draw(t, "addresses are counted") {
			for _, z := range zones {
				pool.Subnets = append(pool.Subnets, cluster.Subnet{ID: "subnet-" + z, Zone: z, Free: int64(rapid.IntRange(0, 4).Draw(t, "free"))})
			}
		}
	}
	if rapid.Bool().Draw(t, "pods wait") {
		p.Pending = drawProblem(t, true).Pending
	}
	return p
}

// Whatever is asked, a fork that is dropped leaves all as it was: a field that a fork changes without a note in the journal
// would let one question decide the next.
func TestAForkLeavesNothingBehind(t *testing.T) {
	asked, launched, kept := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		w := pack.NewWhatIf(drawCluster(t))
		if w.Len() == 0 {
			return
		}
		var there []int
		for i := range w.Len() {
			there = append(there, i)
		}
		before := pack.StateOf(w)
		for range 8 {
			if len(there) == 0 {
				return
			}
			away := rapid.SliceOfNDistinct(rapid.SampledFrom(there), 1, min(3, len(there)), rapid.ID[int]).Draw(t, "away")
			rules := pack.Rules{Launch: rapid.Bool().Draw(t, "launch"), Old: catalog.MicroUSD(rapid.IntRange(0, 3_000_000).Draw(t, "old")), SpotToSpot: true,
				Anyhow: rapid.Bool().Draw(t, "anyhow"), Work: int64(rapid.IntRange(0, 1).Draw(t, "work")) * 20_000}
			a := w.Try(away, rules)
			asked++
			if a.NewNodes > 0 && a.Refusal == pack.Fine {
				launched++
			}
			if a.Refusal == pack.Fine && rapid.IntRange(0, 5).Draw(t, "keep") == 0 {
				w.Keep()
				kept++
				there = without(there, away)
				before = pack.StateOf(w)
				continue
			}
			w.Drop()
			if after := pack.StateOf(w); after != before {
				t.Fatalf("after %v by %+v, which came to %+v:\n%s", away, rules, a, difference(before, after))
			}
		}
	})
	if asked == 0 || launched == 0 || kept == 0 {
		t.Errorf("%d questions, of which %d launched nodes and %d were kept: this shows nothing", asked, launched, kept)
	}
}

func without(all, some []int) []int {
	return slices.DeleteFunc(all, func(id int) bool { return slices.Contains(some, id) })
}

// difference is the lines that only one of the texts has, up to a few.
func difference(a, b string) string {
	var out strings.Builder
	n := 0
	for _, x := range []struct{ sign, of, in string }{{"-", a, b}, {"+", b, a}} {
		have := map[string]bool{}
		for line := range strings.Lines(x.in) {
			have[line] = true
		}
		for line := range strings.Lines(x.of) {
			if !have[line] && n < 40 {
				n++
				fmt.Fprintf(&out, "%s %s", x.sign, line)
			}
		}
	}
	return out.String()
}
