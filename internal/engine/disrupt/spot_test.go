package disrupt_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/engine/verify"
)

// cheaper is a spot node at $0.20, and n types that cost less, each much more than the one before.
func cheaper(n int) *disrupt.Problem {
	var types []*catalog.Type
	price := catalog.MicroUSD(1_000)
	for i := range n {
		types = append(types, typeOf(fmt.Sprintf("new-%02d", i), 2, way{"a", catalog.Spot, price}))
		price = price * 14 / 10
	}
	p := lone(types...)
	p.Cluster.Nodes[0].CapacityType = catalog.Spot
	p.Options.SpotToSpot = true
	return p
}

// Types count that are cheaper, whether or not a launch would be worth their price.
func TestFifteenTypesAreCountedByWhatTheNodeCosts(t *testing.T) {
	for n, want := range map[int]string{15: "", 14: "14 types would be cheaper on spot, and 15 are asked (replacing it would save $0.1990/h)"} {
		p := cheaper(n)
		d := disrupt.Decide(p)
		for _, v := range verify.Moves(p, d) {
			t.Error(v)
		}
		switch {
		case want == "":
			if len(d.Moves) != 1 || len(d.Moves[0].NewNodes[0].Types) != 15 {
				t.Errorf("of %d cheaper types:\n%s", n, d)
			}
		case len(d.Kept) != 1 || d.Kept[0].Reasons[0].Text() != want:
			t.Errorf("of %d cheaper types:\n%s", n, d)
		}
	}
}

// A new node does not count against the limit that it is launched within.
func TestFifteenTypesAreCountedWithinLimits(t *testing.T) {
	for name, limits := range map[string]res.List{"nodes": {res.Nodes: 2}, "processors": {res.CPU: 6000}} {
		p := cheaper(15)
		p.Cluster.Pools[0].Limits, p.Cluster.Pools[0].Used = limits, res.List{res.CPU: 4000, res.Nodes: 1}
		if d := disrupt.Decide(p); len(d.Moves) != 1 || len(d.Moves[0].NewNodes[0].Types) != 15 {
			t.Errorf("%s:\n%s", name, d)
		}
	}
}

func TestAComparisonSaysThatSpotPricesHaveMoved(t *testing.T) {
	for name, c := range map[string]struct {
		lately *catalog.Range
		spot   bool
		want   bool
	}{
		"they have":           {lately: &catalog.Range{Low: 190_000, High: 300_000}, spot: true, want: true},
		"they have not":       {spot: true},
		"of a node on demand": {lately: &catalog.Range{Low: 190_000, High: 300_000}},
	} {
		other := typeOf("new", 2, way{"a", catalog.Spot, 300_000})
		other.Offerings[0].Lately = c.lately
		p := lone(other)
		p.Options.SpotToSpot, p.Options.MinSpotTypes = true, 1
		if c.spot {
			p.Cluster.Nodes[0].CapacityType = catalog.Spot
		}
		d := disrupt.Decide(p)
		if len(d.Kept) != 1 {
			t.Fatalf("%s:\n%s", name, d)
		}
		if text := d.Kept[0].Reasons[0].Text(); strings.Contains(text, "spot prices are compared at their worst") != c.want {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// A node on demand is no ticket for the spot nodes that would go with it.
func TestPodsOfSpotNodesStayOffNewSpotNodesWhateverGoesWithThem(t *testing.T) {
	p := lone(typeOf("new", 2, way{"a", catalog.Spot, 50_000})).Cluster
	onDemand := p.Nodes[0]
	onDemand.Allocatable[res.CPU] = 2000 // of one pod
	spot, pod := *onDemand, *onDemand.Pods[0]
	class := *pod.Class
	class.ID, class.Labels = "other", map[string]string{"app": "other"}
	onDemand.Pods[0].Class.Requests = res.List{res.CPU: 1500, res.Pods: 1}
	class.Requests = onDemand.Pods[0].Class.Requests // a new node takes one pod
	pod.Name, pod.Node, pod.Class = "other", "spot", &class
	spot.Name, spot.Claim, spot.CapacityType, spot.Pods = "spot", "spot", catalog.Spot, []*cluster.Pod{&pod}
	p.Nodes = append(p.Nodes, &spot)
	w := pack.NewWhatIf(p)
	for _, tt := range []struct {
		away []int
		gate bool
		want pack.Refusal
	}{
		{away: []int{0}, want: pack.Fine},
		{away: []int{1}, want: pack.SpotToSpot},
		{away: []int{0, 1}, want: pack.SpotToSpot},
		{away: []int{0, 1}, gate: true, want: pack.Fine},
	} {
		rules := pack.Rules{Launch: true, SpotToSpot: tt.gate, MinTypes: 1}
		for _, id := range tt.away {
			rules.Old += p.Nodes[id].Price
		}
		if a := w.Try(tt.away, rules); a.Refusal != tt.want {
			t.Errorf("nodes %v with the gate %v: %+v, want refusal %d", tt.away, tt.gate, a, tt.want)
		}
	}
}
