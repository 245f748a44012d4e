package disrupt

import (
	"testing"
	"time"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/cluster"
)

func TestANodeIsEmptyWhenNothingOnItNeedsAnotherPlace(t *testing.T) {
	for sentence, tt := range map[string]struct {
		node cluster.Node
		want bool
	}{
		"nothing at all":               {cluster.Node{}, true},
		"a pod":                        {cluster.Node{Pods: []*cluster.Pod{{}}}, false},
		"daemons and static pods":      {cluster.Node{Pods: []*cluster.Pod{{Daemon: true}, {Mirror: true}}}, true},
		"a pod that is ending":         {cluster.Node{Pods: []*cluster.Pod{{Terminating: true}}}, true},
		"only room for virtual pods":   {cluster.Node{Virtual: 1}, false},
		"daemons and room for a spare": {cluster.Node{Virtual: 1, Pods: []*cluster.Pod{{Daemon: true}}}, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := empty(&tt.node); got != tt.want {
				t.Errorf("empty is %t, want %t", got, tt.want)
			}
		})
	}
}

func TestAnEmptyNodeIsDueAfterItsPoolsTimeUnlessItHasToStay(t *testing.T) {
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	pool := &karpv1.NodePool{}
	pool.Spec.Disruption.ConsolidateAfter.Duration = new(time.Minute)
	shifted := func(id string) bool { return id == "aws:///a/i-1" }
	for sentence, tt := range map[string]struct {
		empty     time.Duration
		leftAlone func(string) bool
		id        string
		keep      bool
		want      bool
	}{
		"empty for long enough":                     {time.Minute, nil, "aws:///a/i-1", false, true},
		"not yet":                                   {time.Minute - 1, nil, "aws:///a/i-1", false, false},
		"somebody wants to keep it":                 {time.Minute, nil, "aws:///a/i-1", true, false},
		"traffic is shifted away from its zone":     {time.Minute, shifted, "aws:///a/i-1", false, false},
		"traffic is shifted away from another zone": {time.Minute, shifted, "aws:///b/i-2", false, true},
	} {
		t.Run(sentence, func(t *testing.T) {
			n := &cluster.Node{Name: "n", ProviderID: tt.id, DoNotDisrupt: tt.keep, CreatedAt: now.Add(-time.Hour)}
			e := &Emptiness{LeftAlone: tt.leftAlone, emptySince: map[string]time.Time{"n": now.Add(-tt.empty)}}
			if got := e.due(pool, n, now); got != tt.want {
				t.Errorf("due is %t, want %t", got, tt.want)
			}
		})
	}
}
