package disrupt

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/apply"
	"github.com/kerf-sh/kerf/internal/cluster"
)

func TestMachinesStayUntilTheirMoveHasPaidBack(t *testing.T) {
	now := time.Unix(1000, 0)
	of := func(command string) *karpv1.NodeClaim {
		return &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{apply.CommandAnnotation: command}}}
	}
	used, unused := &cluster.Node{Pods: []*cluster.Pod{{}}}, &cluster.Node{}
	g := NewGovernor()
	g.Paying("one", time.Hour, now)
	g.Paying("two", 1000*time.Hour, now)
	for name, tt := range map[string]struct {
		node  *cluster.Node
		claim *karpv1.NodeClaim
		after time.Duration
		stays bool
		loose bool
	}{
		"at once":                          {used, of("one"), 0, true, false},
		"before it has paid back":          {used, of("one"), time.Hour - 1, true, false},
		"once it has":                      {used, of("one"), time.Hour, false, false},
		"once the load has fallen":         {used, of("one"), 0, false, true},
		"without pods":                     {unused, of("one"), 0, false, false},
		"a machine of another command":     {used, of("three"), 0, false, false},
		"one that was bought for no move":  {used, &karpv1.NodeClaim{}, 0, false, false},
		"one whose claim is not known":     {used, nil, 0, false, false},
		"a move that hardly ever does":     {used, of("two"), longestPaying - 1, true, false},
		"a move that hardly ever does: on": {used, of("two"), longestPaying, false, false},
	} {
		r, until := g.paying(tt.node, tt.claim, tt.loose, now.Add(tt.after))
		if (r.Code != "") != tt.stays || until.IsZero() == tt.stays {
			t.Errorf("%s: %q until %s", name, r.Text(), until)
		}
	}
	g.Undone("two")
	if r, _ := g.paying(used, of("two"), false, now); r.Code != "" {
		t.Errorf("a move that was taken back: %s", r.Text())
	}
	if g.Paying("four", time.Minute, now.Add(longestPaying)); len(g.paid) != 1 {
		t.Errorf("what has paid back is remembered: %v", g.paid)
	}
}
