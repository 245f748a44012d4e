package disrupt

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
)

// TestABrokenQuestionKeepsItsNodesAndNoOthers: the nodes that a defect is about are kept and say so; the others are decided
// on as if those were blocked.
func TestABrokenQuestionKeepsItsNodesAndNoOthers(t *testing.T) {
	problem := func() *Problem {
		p := &Problem{Cluster: &pack.Problem{}, Pools: []Pool{{Name: "default", Policy: WhenEmptyOrUnderutilized}}}
		typ := &catalog.Type{Name: "small"}
		p.Cluster.Pools = []*cluster.Pool{{Name: "default", Types: []*catalog.Type{typ}}}
		for i := range 4 {
			name := fmt.Sprintf("n%d", i+1)
			p.Cluster.Nodes = append(p.Cluster.Nodes, &cluster.Node{Name: name, Claim: name, Pool: "default", InstanceType: "small", Zone: "a", CapacityType: "on-demand",
				Price: 100_000, Launched: true, Registered: true, Initialized: true, Ready: true})
			p.Nodes = append(p.Nodes, Node{Name: name})
		}
		return p
	}
	p := problem()
	if d := Decide(p); len(d.Moves) != 4 {
		t.Fatalf("%d moves of four empty nodes", len(d.Moves))
	}
	p.asked = func(nodes []*nodeState) {
		for _, n := range nodes {
			if n.src.Name == "n2" || n.src.Name == "n3" {
				panic("planted")
			}
		}
	}
	d := Decide(p)
	kept := map[string]string{}
	for _, k := range d.Kept {
		kept[k.Node] = k.Reasons[0].Text()
	}
	for _, m := range d.Moves {
		for _, name := range m.Nodes {
			kept[name] = "moves"
		}
	}
	for name, want := range map[string]string{"n1": "moves", "n2": "evaluating it failed", "n3": "planted", "n4": "moves"} {
		if !strings.Contains(kept[name], want) {
			t.Errorf("%s: %q, want %q", name, kept[name], want)
		}
	}
	again := Decide(p)
	if fmt.Sprintf("%+v", again.Moves) != fmt.Sprintf("%+v", d.Moves) {
		t.Error("the same problem is decided differently")
	}
	rolled := Replace(p, Drifted, []string{"n1", "n2"})
	if len(rolled.Moves) != 1 || rolled.Moves[0].Nodes[0] != "n1" || len(rolled.Kept) != 1 || !strings.Contains(rolled.Kept[0].Reasons[0].Text(), "planted") {
		t.Errorf("of n1 and n2, which drifted, n1 is to go:\n%s", rolled)
	}
}
