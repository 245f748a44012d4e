package audit_test

import (
	"math"
	"slices"
	"testing"

	"github.com/kerf-sh/kerf/internal/audit"
	"github.com/kerf-sh/kerf/internal/state/pricefile"
)

// What is reserved is paid for whether or not a node uses it: no saving is of such nodes, however little runs on them.
func TestReservedNodesAreNoSavings(t *testing.T) {
	blocks := build()
	for _, name := range []string{"g1", "g2"} {
		blocks.node(name, "p4d.24xlarge", "eu-west-1a", map[string]string{"eks.amazonaws.com/nodegroup": "train", "eks.amazonaws.com/capacityType": "CAPACITY_BLOCK"})
	}
	blocks.replicas("ml", "train", "4", "8Gi", nil, "g1", "g2")
	karpenter := withKarpenter()
	for _, n := range karpenter.Nodes {
		if n.Name == "l1" || n.Name == "l2" || n.Name == "d1" {
			n.Labels["karpenter.sh/capacity-type"] = "reserved"
		}
	}
	for name, c := range map[string]struct {
		b     *builder
		nodes []string
	}{"capacity blocks of a node group": {blocks, []string{"g1", "g2"}}, "reservations of NodePools": {karpenter, []string{"d1", "l1", "l2"}}} {
		t.Run(name, func(t *testing.T) {
			r := run(t, c.b.Snapshot, audit.Options{Work: quick})
			addsUp(t, r)
			paid := shareOf(r.Bill.CapacityTypes, "reserved")
			if paid == 0 || r.Floor.Kept < paid-1e-9 {
				t.Errorf("reserved are $%f/h, and kept $%f/h", paid, r.Floor.Kept)
			}
			for _, p := range append(slices.Clone(r.Difference), r.Asked...) {
				for _, o := range p.Objects {
					if slices.Contains(c.nodes, o.Name) {
						t.Errorf("%s names %s: %s", p.Code, o.Name, o.Detail)
					}
				}
			}
			if r.First != nil {
				for _, m := range r.First.Moves {
					if slices.ContainsFunc(m.Nodes, func(n string) bool { return slices.Contains(c.nodes, n) }) {
						t.Errorf("%s", m.Text)
					}
				}
			}
			at := slices.IndexFunc(r.Untouched, func(u audit.Untouched) bool { return u.Reason == "reserved: it is paid anyway" })
			if at < 0 || !slices.Equal(r.Untouched[at].Nodes, c.nodes) {
				t.Errorf("untouched are %+v", r.Untouched)
			}
			rules, err := pricefile.Parse("p.yaml", []byte("prices: [{match: {capacityType: reserved}, factor: 0.5}, {match: {capacityType: on-demand}, factor: 3}]"))
			if err != nil {
				t.Fatal(err)
			}
			half := run(t, c.b.Snapshot, audit.Options{Work: quick, Prices: rules})
			if got := shareOf(half.Bill.CapacityTypes, "reserved"); math.Abs(got-paid/2) > 1e-5 || half.Prices.Overrides != 2 {
				t.Errorf("with rules of a price file for reserved nodes they are $%f/h, want half of $%f/h; %d rules are used", got, paid, half.Prices.Overrides)
			}
		})
	}
}
