package overview

import (
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// TestAPodThatIsMovedCountsWhereItRuns, also while room is kept for it on another node.
func TestAPodThatIsMovedCountsWhereItRuns(t *testing.T) {
	now, class := time.Now(), &cluster.Class{ID: "c", Namespace: "shop", Requests: res.List{res.Pods: 1}}
	pod := func(name, on string) *cluster.Pod {
		return &cluster.Pod{PodRef: cluster.PodRef{Namespace: "shop", Name: name, UID: name}, Class: class, Node: on, CreatedAt: now}
	}
	moved, waits := pod("a", "old"), pod("w", "")
	node := func(name string, pods ...*cluster.Pod) *cluster.Node {
		return &cluster.Node{Name: name, Claim: "c-" + name, Launched: true, Price: 10, Pods: pods, Used: res.List{res.Pods: int64(len(pods))}}
	}
	s := &cluster.Snapshot{Nodes: []*cluster.Node{node("new", moved, waits, pod("d", "new")), node("old", moved, pod("b", "old"))}}
	o := New(Sources{Snapshot: func() *cluster.Snapshot { return s }, Now: func() time.Time { return now }})
	d := o.Document(t.Context(), "")
	if running, waiting := d.Pods(); running != 3 || waiting != 1 {
		t.Errorf("%d run and %d wait, want 3 and 1", running, waiting)
	}
	if n := d.Nodes[0]; n.Running() != 1 || n.Expected != 2 {
		t.Errorf("the new node has %d pods and %d expected, want 1 and 2", n.Running(), n.Expected)
	}
	o.sample(t.Context())
	if p := o.history.points; len(p) != 1 || p[0].Pods != 3 || p[0].Waiting != 1 {
		t.Errorf("the history has %+v", p)
	}
}

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
