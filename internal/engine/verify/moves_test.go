package verify_test

import (
	"slices"
	"testing"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/verify"
	"github.com/kerf-sh/kerf/internal/sim/scenario"
)

const halfEmpty = `types
small cpu=2 memory=4Gi price=0.10 spot=0.03
large cpu=8 memory=16Gi price=0.40 spot=0.12

pool default

instance n1 large
pods web count=3 cpu=1

instance n2 small
pods db count=1 cpu=1

instance n3 large
pods job cpu=7500m

instance n4 large
`

// decided is a decision with a deletion of an empty node, moves to other nodes and a replacement.
func decided(t *testing.T) (*disrupt.Problem, *disrupt.Decision) {
	t.Helper()
	steps, err := scenario.Parse(halfEmpty)
	if err != nil {
		t.Fatal(err)
	}
	e := scenario.New()
	for _, s := range steps {
		if out, err := e.Run(s.Head, s.Input); err != nil {
			t.Fatalf("%s: %v %s", s.Head, err, out)
		}
	}
	p := &disrupt.Problem{Cluster: e.Problem, Pools: []disrupt.Pool{{Name: "default", Policy: disrupt.WhenEmptyOrUnderutilized}}}
	e.Problem.Nodes = new(cluster.Pricer).Apply(e.Problem.Nodes, e.Problem.Pools)
	for _, n := range e.Problem.Nodes {
		p.Nodes = append(p.Nodes, disrupt.Node{Name: n.Name})
	}
	p.Nodes[0].Blocks = []disrupt.Reason{{Code: disrupt.DoNotDisrupt}} // n1 stays, and has room
	return p, disrupt.Decide(p)
}

func moveWith(d *disrupt.Decision, found func(*disrupt.Move) bool) *disrupt.Move {
	for i := range d.Moves {
		if found(&d.Moves[i]) {
			return &d.Moves[i]
		}
	}
	panic("no such move")
}

func launching(m *disrupt.Move) bool { return len(m.NewNodes) > 0 }

func placing(m *disrupt.Move) bool { return len(m.Placements) > 0 }

func TestEveryWayToSpoilADecisionIsSeen(t *testing.T) {
	cases := map[string]struct {
		spoil func(*disrupt.Problem, *disrupt.Decision)
		want  string
	}{
		"a node is blocked": {func(p *disrupt.Problem, _ *disrupt.Decision) {
			for i := range p.Nodes {
				p.Nodes[i].Blocks = []disrupt.Reason{{Code: disrupt.DoNotDisrupt}}
			}
		}, "blocked"},
		"a node is not managed":   {func(p *disrupt.Problem, _ *disrupt.Decision) { p.Nodes = nil }, "node"},
		"a node goes twice":       {func(_ *disrupt.Problem, d *disrupt.Decision) { d.Moves = append(d.Moves, d.Moves[0]) }, "node"},
		"a node goes and takes":   {func(_ *disrupt.Problem, d *disrupt.Decision) { moveWith(d, placing).Placements[0].Node = "n4" }, "node"},
		"a pool is static":        {func(p *disrupt.Problem, _ *disrupt.Decision) { p.Pools[0].Static = true }, "pool"},
		"a pool is unknown":       {func(p *disrupt.Problem, _ *disrupt.Decision) { p.Pools = nil }, "pool"},
		"only empty nodes may go": {func(p *disrupt.Problem, _ *disrupt.Decision) { p.Pools[0].Policy = disrupt.WhenEmpty }, "policy"},
		"a node is called empty":  {func(_ *disrupt.Problem, d *disrupt.Decision) { moveWith(d, launching).Cause = disrupt.Empty }, "policy"},
		"a budget is exceeded": {func(p *disrupt.Problem, _ *disrupt.Decision) {
			p.Pools[0].Allowed = map[disrupt.Cause]int{disrupt.Empty: 0}
		}, "budget"},
		"a pod is forgotten":        {func(_ *disrupt.Problem, d *disrupt.Decision) { moveWith(d, placing).Placements = nil }, "pods"},
		"a new node is too small":   {func(p *disrupt.Problem, _ *disrupt.Decision) { shrink(p) }, "resources"},
		"a saving is made up":       {func(_ *disrupt.Problem, d *disrupt.Decision) { moveWith(d, launching).Saving++ }, "price"},
		"a saving is not certain":   {func(p *disrupt.Problem, _ *disrupt.Decision) { dearer(p) }, "price"},
		"the sum is made up":        {func(_ *disrupt.Problem, d *disrupt.Decision) { d.After-- }, "price"},
		"spot is launched for spot": {func(p *disrupt.Problem, _ *disrupt.Decision) { allSpot(p) }, "spot"},
		"a node is not accounted":   {func(_ *disrupt.Problem, d *disrupt.Decision) { d.Kept = nil }, "node"},
		"a node stays for no cause": {func(_ *disrupt.Problem, d *disrupt.Decision) { d.Kept[0].Reasons = nil }, "reasons"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p, d := decided(t)
			if v := verify.Moves(p, d); len(v) > 0 {
				t.Fatalf("the decision is bad to begin with: %v\n%s", v, d)
			}
			tc.spoil(p, d)
			got := verify.Moves(p, d)
			if !slices.ContainsFunc(got, func(v verify.Violation) bool { return v.Rule == tc.want }) {
				t.Errorf("found %v, want one about %s\n%s", got, tc.want, d)
			}
		})
	}
}

func shrink(p *disrupt.Problem) {
	for _, t := range p.Cluster.Pools[0].Types {
		t.Capacity["cpu"] = 500
	}
}

func dearer(p *disrupt.Problem) {
	for _, t := range p.Cluster.Pools[0].Types {
		t.Offerings[len(t.Offerings)-1].Price = 900_000
	}
}

func allSpot(p *disrupt.Problem) {
	for _, n := range p.Cluster.Nodes {
		n.CapacityType = catalog.Spot
	}
}
