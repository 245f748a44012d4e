package disrupt

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kerf-sh/kerf/internal/catalog"
	"github.com/kerf-sh/kerf/internal/cluster"
	"github.com/kerf-sh/kerf/internal/disrupt"
	"github.com/kerf-sh/kerf/internal/pack"
)

func TestWhereLittleIsSavedFewNodesAreOnTheirWay(t *testing.T) {
	const bill = catalog.MicroUSD(1_000_000)
	pods := func(saving catalog.MicroUSD, nodes ...string) disrupt.Move {
		return disrupt.Move{Cause: disrupt.Underutilized, Nodes: nodes, Saving: saving}
	}
	empty := disrupt.Move{Cause: disrupt.Empty, Nodes: []string{"e"}, Saving: bill / 2}
	for name, tt := range map[string]struct {
		nodes, leaving int
		moves          []disrupt.Move
		want           string
	}{
		"much is saved at once":                           {10, 0, []disrupt.Move{pods(100_000, "a"), pods(50_000, "b")}, "a b"},
		"little one after the other":                      {10, 0, []disrupt.Move{pods(50_000, "a"), pods(50_000, "b")}, "a"},
		"none while pods are on their way":                {10, 1, []disrupt.Move{pods(50_000, "a")}, ""},
		"empty nodes wait for nothing, and say nothing":   {10, 1, []disrupt.Move{pods(50_000, "a"), empty}, "e"},
		"a move of several nodes is one":                  {10, 0, []disrupt.Move{pods(50_000, "a", "b", "c"), pods(1, "d")}, "a,b,c"},
		"one node in fifty":                               {150, 1, []disrupt.Move{pods(1, "a"), pods(1, "b", "c"), pods(1, "d"), pods(1, "f")}, "a d"},
		"a large move does not wait until nothing is due": {150, 0, []disrupt.Move{pods(1, "a", "b", "c", "d"), pods(1, "f")}, "a,b,c,d"},
	} {
		v := &view{problem: &disrupt.Problem{Nodes: make([]disrupt.Node, tt.nodes), Cluster: &pack.Problem{Nodes: []*cluster.Node{
			{Claim: "no pods any more", Leaving: true}, {Claim: "daemons", Deleting: true, Pods: []*cluster.Pod{{Daemon: true}}}, {Claim: "stays", Pods: []*cluster.Pod{{}}},
		}}}}
		for i := range tt.leaving {
			v.problem.Cluster.Nodes = append(v.problem.Cluster.Nodes, &cluster.Node{Claim: fmt.Sprint(i), Leaving: true, Pods: []*cluster.Pod{{}}})
		}
		var got []string
		for _, m := range careful(v, &disrupt.Decision{Before: bill, Moves: tt.moves}, tt.moves) {
			got = append(got, strings.Join(m.Nodes, ","))
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}
