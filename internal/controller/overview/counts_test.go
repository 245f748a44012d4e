package overview

import (
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
)

// TestNodesOfAShortageAreDear by what they cost more than usual, as long as they are there.
func TestNodesOfAShortageAreDear(t *testing.T) {
	now := time.Now()
	s := &cluster.Snapshot{Nodes: []*cluster.Node{
		{Name: "n1", Claim: "c1", Launched: true, Price: 182_000}, {Name: "n2", Claim: "c2", Launched: true, Price: 40_000},
		{Name: "n3", Claim: "c3", Launched: true, Price: 30_000}, {Name: "n4", Claim: "c4", Price: 90_000},
	}}
	o := New(Sources{Snapshot: func() *cluster.Snapshot { return s }, Now: func() time.Time { return now }, Usual: func() map[string]catalog.MicroUSD {
		return map[string]catalog.MicroUSD{"c1": 50_000, "c3": 35_000, "c4": 10_000, "gone": 1}
	}})
	if got := o.Document(t.Context(), "").Bill.Dear; got != 132_000 {
		t.Errorf("%d more than usual, want 132000: c1 alone is launched and dearer", got)
	}
}
