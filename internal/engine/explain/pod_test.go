package explain_test

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/kerf-sh/kerf/internal/controller/decisions"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/explain"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/record"
)

// TestPodsAreTakenAsTheyAreNow: decisions are made while pods wait, and say nothing of what has become of them.
func TestPodsAreTakenAsTheyAreNow(t *testing.T) {
	p := story(t, shop)
	for _, n := range p.Nodes {
		n.Labels["kubernetes.io/hostname"] = n.Name
	}
	ring := decisions.NewRing(4, 1<<20, slog.New(slog.DiscardHandler))
	ring.Add(&record.Decision{Kerf: "test", Problem: p, Plan: pack.Solve(p), Claims: []record.Claim{{NewNode: 0, Name: "default-new"}}})
	server := httptest.NewServer(decisions.Handler(ring))
	defer server.Close()
	ring.SetNodes(func(name string) (record.Now, bool) {
		return record.Now{Node: &cluster.Node{Name: name, Claim: map[string]string{"node-new": "default-new"}[name]}}, true
	})
	for name, tc := range map[string]struct {
		pod         string
		now         record.PodNow
		unknown     bool
		found       bool
		want, lacks []string
	}{
		"without a place, then bound":         {pod: "giant-1", now: record.PodNow{Node: "big"}, found: true, want: []string{"it runs on node big", "no recorded decision gave it that place; why the node is there: kerf explain node big"}, lacks: []string{"no place", "cheapest"}},
		"bound where it was planned":          {pod: "web-2", now: record.PodNow{Node: "node-new"}, found: true, want: []string{"it runs on node node-new\nit was to go to a new node of NodePool default", "(decision ", "planned as medium"}, lacks: []string{"elsewhere"}},
		"bound elsewhere":                     {pod: "web-2", now: record.PodNow{Node: "other"}, found: true, want: []string{"it runs on node other\ndecision ", " had a place for it on default-new; kube-scheduler bound it elsewhere"}, lacks: []string{"planned as"}},
		"bound to a node that had room":       {pod: "tiny-1", now: record.PodNow{Node: "foreign"}, found: true, want: []string{"it runs on node foreign\nit was to go to foreign, which had room for it"}},
		"without a place, and gone":           {pod: "giant-1", now: record.PodNow{Gone: true}, found: true, want: []string{"there is no such pod now", "it had no place", "cheapest single change"}, lacks: []string{"it has no place"}},
		"gone, and in no decision":            {pod: "stranger", now: record.PodNow{Gone: true}, want: []string{"there is no such pod now", "no recorded decision is about it"}, lacks: []string{"ask again"}},
		"without a place":                     {pod: "giant-1", now: record.PodNow{UID: "none"}, found: true, want: []string{"it has no place"}},
		"another of that name was in one":     {pod: "giant-1", now: record.PodNow{UID: "second"}, want: []string{"none is about it"}, lacks: []string{"no place"}},
		"behind a gate":                       {pod: "gated", now: record.PodNow{Why: "it is behind the scheduling gate x"}, found: true, want: []string{"it is behind the scheduling gate x"}, lacks: []string{"ask again"}},
		"nominated, and in no decision":       {pod: "high", now: record.PodNow{Nominated: "old"}, found: true, want: []string{"room on node old", "or its volume or device is being prepared"}, lacks: []string{"ask again"}},
		"waiting, and in no decision yet":     {pod: "new", now: record.PodNow{}, want: []string{"none is about it", "ask again"}, lacks: []string{"never decided on"}},
		"a controller that can't tell":        {pod: "giant-1", unknown: true, found: true, want: []string{"it has no place"}},
		"a controller that can't tell of any": {pod: "stranger", unknown: true, want: []string{"none is about it", "never decided on"}},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.now.UID == "none" {
				tc.now.UID = uid(p, tc.pod)
			}
			ring.SetPods(func(_ context.Context, namespace, name string) (record.PodNow, bool) {
				if namespace != "" && namespace != "default" || name != tc.pod {
					return record.PodNow{Gone: true}, true
				}
				if !tc.now.Gone {
					tc.now.Namespace, tc.now.Name = "default", tc.pod
				}
				return tc.now, !tc.unknown
			})
			a, err := explain.Pod(t.Context(), decisions.Server{URL: server.URL}, "", tc.pod)
			if err != nil {
				t.Fatal(err)
			}
			says(t, a, tc.found, tc.want, tc.lacks)
		})
	}
}

// TestAPodThatWaitsThoughThePlanHasAPlaceForItSaysWhy: nothing is launched for it, or put on a node, by that decision.
func TestAPodThatWaitsThoughThePlanHasAPlaceForItSaysWhy(t *testing.T) {
	p := story(t, shop)
	solved := pack.Solve(p)
	at := slices.IndexFunc(solved.NewNodes, func(n plan.NewNode) bool {
		return slices.ContainsFunc(n.Pods, func(r cluster.PodRef) bool { return r.Name == "web-2" })
	})
	if at < 0 {
		t.Fatal("the story has no new node for web-2")
	}
	ring := decisions.NewRing(4, 1<<20, slog.New(slog.DiscardHandler))
	ring.Add(&record.Decision{Kerf: "test", Problem: p, Plan: solved, Left: []plan.Unplaced{{Pods: solved.NewNodes[at].Pods, Reasons: []plan.Reason{{Code: plan.AskedAgain, Pool: "default"}}}}})
	server := httptest.NewServer(decisions.Handler(ring))
	defer server.Close()
	for name, tc := range map[string]struct {
		now         record.PodNow
		want, lacks []string
	}{
		"it waits":            {record.PodNow{Namespace: "default", Name: "web-2"}, []string{"it has no place", ": pool default: EC2 is asked again with one NodeClaim first"}, []string{"it goes to"}},
		"it was bound by now": {record.PodNow{Namespace: "default", Name: "web-2", Node: "other"}, []string{"no recorded decision gave it that place"}, []string{"elsewhere", "it was to go"}},
	} {
		t.Run(name, func(t *testing.T) {
			ring.SetPods(func(context.Context, string, string) (record.PodNow, bool) { return tc.now, true })
			a, err := explain.Pod(t.Context(), decisions.Server{URL: server.URL}, "", "web-2")
			if err != nil {
				t.Fatal(err)
			}
			says(t, a, true, tc.want, tc.lacks)
		})
	}
}

// uid is that of a pod that waits.
func uid(p *pack.Problem, name string) string {
	for _, pod := range p.Pending {
		if pod.Name == name {
			return pod.UID
		}
	}
	return ""
}

// TestADecisionOnNodesKnowsWhereAPodRuns, also where nobody can be asked how the pod stands now.
func TestADecisionOnNodesKnowsWhereAPodRuns(t *testing.T) {
	p := story(t, shop)
	ring := decisions.NewRing(4, 1<<20, slog.New(slog.DiscardHandler))
	ring.Add(&record.Decision{Kerf: "test", Problem: p, Plan: pack.Solve(p)})
	later := *p
	later.Generation, later.Pending = 2, nil
	giant := p.Pending[3]
	later.Nodes = []*cluster.Node{{Name: "big", Pods: []*cluster.Pod{{PodRef: giant.PodRef, Class: giant.Class, Node: "big"}}}}
	ring.Add(&record.Decision{Kerf: "test", Problem: &later, Asked: &record.Asked{}, Disruption: &disrupt.Decision{}})
	server := httptest.NewServer(decisions.Handler(ring))
	defer server.Close()
	a, err := explain.Pod(t.Context(), decisions.Server{URL: server.URL}, giant.Namespace, giant.Name)
	if err != nil {
		t.Fatal(err)
	}
	if text := a.String(); !a.Found || giant.Name != "giant-1" || !strings.Contains(text, "it runs on node big") || strings.Contains(text, "no place\n") {
		t.Errorf("of %s:\n%s", giant.Name, text)
	}
}
