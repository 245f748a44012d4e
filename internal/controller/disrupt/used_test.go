package disrupt

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
)

func TestWhatIsNotThereCountsAgainstEveryBudget(t *testing.T) {
	pool := &karpv1.NodePool{}
	pool.Name = "p"
	pool.Spec.Disruption.Budgets = []karpv1.Budget{{Nodes: "50%"}, {Nodes: "1", Reasons: []karpv1.DisruptionReason{karpv1.DisruptionReasonDrifted}}}
	open := &karpv1.NodePool{}
	open.Name = "open"
	up := func(n cluster.Node) *cluster.Node {
		n.Claim, n.Pool, n.Initialized = n.Name, "p", true
		n.Ready = n.Name != "unready"
		return &n
	}
	nodes := []*cluster.Node{
		up(cluster.Node{Name: "a"}), up(cluster.Node{Name: "b"}), up(cluster.Node{Name: "unready"}), up(cluster.Node{Name: "going", Leaving: true}),
		up(cluster.Node{Name: "gone", Deleting: true}), up(cluster.Node{Name: "c"}), up(cluster.Node{Name: "d"}), up(cluster.Node{Name: "busy"}),
		{Name: "young", Claim: "young", Pool: "p"}, {Name: "foreign", Pool: "p", Initialized: true, Ready: true},
	}
	got := Spend([]*karpv1.NodePool{pool, open}, nodes, func(claim string) bool { return claim == "busy" }, time.Unix(0, 0))
	want := map[string]*Spending{
		"p":    {Nodes: 8, Used: 4, Left: map[karpv1.DisruptionReason]int{"Empty": 0, "Underutilized": 0, "Drifted": 0}},
		"open": {Left: map[karpv1.DisruptionReason]int{}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	got = Spend([]*karpv1.NodePool{pool}, nodes[:3], func(string) bool { return false }, time.Unix(0, 0))
	if diff := cmp.Diff(map[karpv1.DisruptionReason]int{"Empty": 1, "Underutilized": 1, "Drifted": 0}, got["p"].Left); diff != "" {
		t.Errorf("one of three nodes is not ready, and two may be missing:\n%s", diff)
	}
}
