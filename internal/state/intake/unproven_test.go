package intake

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

func TestOneInstanceAtATimeShowsWhetherAPoolIsRightAgain(t *testing.T) {
	failed := time.Unix(1000, 0)
	pool := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
	pool.StatusConditions().WithClock(func() time.Time { return failed }).SetFalse(karpv1.ConditionTypeNodeRegistrationHealthy, karpv1.ReasonRegistrationFailed, "")
	claims := map[string]*karpv1.NodeClaim{"new": {}, "old": {}}
	claims["old"].StatusConditions().SetTrueWithReason(karpv1.ConditionTypeDrifted, "NodeClassDrift", "")
	claim := func(name string) *karpv1.NodeClaim { return claims[name] }
	node := func(claim string, edit ...func(*cluster.Node)) *cluster.Node {
		n := &cluster.Node{Name: claim, Claim: claim, Pool: "p", CreatedAt: failed.Add(time.Minute)}
		for _, e := range edit {
			e(n)
		}
		return n
	}
	for name, tt := range map[string]struct {
		nodes    []*cluster.Node
		held     bool
		unproven bool
	}{
		"none under way":                    {nil, false, true},
		"one under way":                     {[]*cluster.Node{node("new")}, true, true},
		"one that the cache does not know":  {[]*cluster.Node{node("assumed")}, true, true},
		"one launched before a change":      {[]*cluster.Node{node("old")}, false, true},
		"one of before and one of after it": {[]*cluster.Node{node("old"), node("new")}, true, true},
		"one that goes":                     {[]*cluster.Node{node("new", func(n *cluster.Node) { n.Deleting = true })}, false, true},
		"one of another pool":               {[]*cluster.Node{node("new", func(n *cluster.Node) { n.Pool = "q" })}, false, true},
		"one that has become a node":        {[]*cluster.Node{node("new", func(n *cluster.Node) { n.Registered = true })}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			out := &cluster.Pool{Used: res.List{res.Nodes: 7}}
			Restrain(out, pool, tt.nodes, claim)
			limit, limited := out.Limits[res.Nodes]
			if held := out.NotReady == awaited; held != tt.held {
				t.Errorf("held: %v, want %v", held, tt.held)
			}
			if one := tt.unproven && !tt.held; limited != one || one && limit != 8 {
				t.Errorf("limits %v", out.Limits)
			}
		})
	}
}
