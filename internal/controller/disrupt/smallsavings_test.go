package disrupt

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/state/cache"
)

func moving(saving catalog.MicroUSD, nodes ...string) disrupt.Move {
	return disrupt.Move{Cause: disrupt.Underutilized, Nodes: nodes, Saving: saving, Wait: 10 * time.Minute}
}

func named(moves []disrupt.Move) string {
	var out []string
	for _, m := range moves {
		out = append(out, strings.Join(m.Nodes, ","))
	}
	return strings.Join(out, " ")
}

// claimsOf is a state of claims alone.
type claimsOf map[string]*karpv1.NodeClaim

func (c claimsOf) Snapshot() *cluster.Snapshot                         { return nil }
func (c claimsOf) Pools() []*karpv1.NodePool                           { return nil }
func (c claimsOf) Claim(name string) *karpv1.NodeClaim                 { return c[name] }
func (c claimsOf) Pod(cluster.PodRef) *corev1.Pod                      { return nil }
func (c claimsOf) DisruptionConstraints() *cache.DisruptionConstraints { return nil }

// marked is a claim that goes for a cause, since then.
func marked(cause disrupt.Cause, since time.Time) *karpv1.NodeClaim {
	c := &karpv1.NodeClaim{}
	c.StatusConditions().WithClock(func() time.Time { return since }).SetTrueWithReason(karpv1.ConditionTypeDisruptionReason, string(cause), "")
	return c
}

func TestWhereLittleIsSavedFewNodesAreOnTheirWay(t *testing.T) {
	now := time.Unix(1000, 0)
	empty := disrupt.Move{Cause: disrupt.Empty, Nodes: []string{"e"}}
	for name, tt := range map[string]struct {
		nodes, leaving int
		ago            time.Duration // since they began to leave
		moves          []disrupt.Move
		want           string
	}{
		"one after the other":                    {10, 0, 0, []disrupt.Move{moving(1, "a"), moving(1, "b")}, "a"},
		"none while pods are on their way":       {10, 1, time.Minute, []disrupt.Move{moving(1, "a")}, ""},
		"a drain that takes too long":            {10, 1, awaited, []disrupt.Move{moving(1, "a"), moving(1, "b")}, "a"},
		"empty nodes wait for nothing":           {10, 1, 0, []disrupt.Move{moving(1, "a"), empty}, "e"},
		"a move of several nodes is one":         {10, 0, 0, []disrupt.Move{moving(1, "a", "b", "c"), moving(1, "d")}, "a,b,c"},
		"one node in fifty":                      {150, 1, 0, []disrupt.Move{moving(1, "a"), moving(1, "b"), moving(1, "c")}, "a b"},
		"a large move is not overtaken for ever": {150, 1, 0, []disrupt.Move{moving(1, "a", "b", "c"), moving(1, "d")}, ""},
		"and has its turn":                       {150, 0, 0, []disrupt.Move{moving(1, "a", "b", "c", "d"), moving(1, "f")}, "a,b,c,d"},
	} {
		v := &view{problem: &disrupt.Problem{Nodes: make([]disrupt.Node, tt.nodes), Cluster: &pack.Problem{Nodes: []*cluster.Node{
			{Claim: "bare", Leaving: true}, {Claim: "daemons", Deleting: true, Pods: []*cluster.Pod{{Daemon: true}}}, {Claim: "stays", Pods: []*cluster.Pod{{}}},
			{Claim: "another", Deleting: true, Pods: []*cluster.Pod{{}}}, {Claim: "removed by hand", Deleting: true, Pods: []*cluster.Pod{{}}},
		}}}}
		claims := claimsOf{"bare": marked(disrupt.Underutilized, now), "daemons": marked(disrupt.Underutilized, now), "another": marked(disrupt.Drifted, now)}
		l := &Loop{State: claims, Queue: &Queue{}}
		for i := range tt.leaving {
			name := fmt.Sprint(i)
			v.problem.Cluster.Nodes = append(v.problem.Cluster.Nodes, &cluster.Node{Name: name, Claim: name, Leaving: true, Pods: []*cluster.Pod{{}}})
			claims[name] = marked(disrupt.Underutilized, now.Add(-tt.ago))
		}
		if got := named(l.delaySmallSavings(v, tt.moves, tt.moves, now)); got != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}

// Three nodes take turns at being the one that could go: none of them ever is confirmed.
func TestWhatCouldBeSavedAllTheTimeIsHadThoughTheNodesChange(t *testing.T) {
	v := &view{problem: &disrupt.Problem{Nodes: make([]disrupt.Node, 10), Cluster: &pack.Problem{}}}
	for name, tt := range map[string]struct {
		none time.Duration // after each of which nothing is found once; 0: never
		want bool
	}{
		"all the time":    {0, true},
		"but for moments": {2*disrupt.LongestWait - time.Minute, false},
	} {
		l, begun := &Loop{}, time.Duration(0)
		for at := time.Duration(0); at < 3*time.Hour && begun == 0; at += 10 * time.Second {
			now := time.Unix(1000, 0).Add(at)
			moves := []disrupt.Move{moving(5+catalog.MicroUSD(at%7), fmt.Sprint("n", at/(2*time.Minute)%3))}
			if tt.none > 0 && at > 0 && at%tt.none == 0 {
				moves = nil
			}
			saving := (&disrupt.Decision{Moves: moves}).ByMovingPods()
			l.findings.Note(saving, now, l.lasting())
			confirmed, _, _ := l.confirmation.Observe(slices.Clone(moves), now)
			if len(confirmed) > 0 {
				t.Fatalf("%s: confirmed after %s: this shows nothing", name, at)
			}
			if len(l.delaySmallSavings(v, moves, confirmed, now)) > 0 {
				begun = at
			}
		}
		if (begun > 0) != tt.want || tt.want && begun < l.lasting() {
			t.Errorf("%s: begun after %s", name, begun)
		}
	}
}
