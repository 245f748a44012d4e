package decisions_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/kerf-sh/kerf/internal/controller/decisions"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/record"
	"github.com/kerf-sh/kerf/internal/sim/scenario"
)

func half(t *testing.T) *disrupt.Problem {
	t.Helper()
	c, err := scenario.Fragmented(scenario.Fragmentation{Nodes: 12, Pods: 10, Percent: 30, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	p := &disrupt.Problem{Cluster: c, Options: disrupt.Options{SpotToSpot: true, PodPrice: 10}, DeletionCosts: map[string]int32{"a/b": 3}}
	for _, n := range c.Nodes {
		p.Nodes = append(p.Nodes, disrupt.Node{Name: n.Name})
	}
	p.Nodes[0].Blocks = []disrupt.Reason{{Code: disrupt.DoNotDisrupt, Pod: "a/b"}}
	for _, pool := range c.Pools {
		p.Pools = append(p.Pools, disrupt.Pool{Name: pool.Name, Policy: disrupt.WhenEmptyOrUnderutilized, Allowed: map[disrupt.Cause]int{disrupt.Drifted: 2}})
	}
	return p
}

func TestTheRingKeepsEachDecisionThatMovesNodes(t *testing.T) {
	p := half(t)
	d := disrupt.Decide(p)
	r := decisions.NewRing(10, 1<<24, slog.New(slog.DiscardHandler))
	for range 3 {
		x := record.OnDisruption("v1", p, "", nil, d, d.Moves, []string{"00000000000000aa"})
		x.Asked.Commands = append(x.Asked.Commands, "00000000000000bb")
		r.Add(x)
		r.List()
	}
	list := r.List()
	for _, id := range []string{"00000000000000aa", "00000000000000bb"} {
		if d, err := r.Decision(id); err != nil || d.ID != "00000000000000aa" || !d.Is(id) {
			t.Errorf("by the ID of a command: %v, %v", d, err)
		}
	}
	if len(list) != 3 || list[0].ID != "00000000000000aa" || !slices.Equal(list[0].Commands, []string{"00000000000000aa", "00000000000000bb"}) || list[0].Moves != len(d.Moves) {
		t.Fatalf("%+v", list)
	}
	if text := list[0].Text(); strings.Contains(text, "(") {
		t.Errorf("before a command has ended: %s", text)
	}
	r.Finished("00000000000000aa", "")
	r.Finished("00000000000000bb", "its replacement a-1 is gone; no node was removed")
	if text := r.List()[0].Text(); !strings.HasSuffix(text, " begun (1 done, 1 given up: its replacement a-1 is gone; no node was removed)") {
		t.Errorf("after both have ended: %s", text)
	}
	answer := httptest.NewRecorder()
	req := httptest.NewRequest(http.MethodGet, decisions.Path+"/00000000000000aa?names=hashed", nil)
	decisions.Handler(r).ServeHTTP(answer, req)
	if answer.Code != http.StatusBadRequest || !strings.Contains(answer.Body.String(), "decision 00000000000000aa is on which nodes go") {
		t.Errorf("with names hashed: %d %s", answer.Code, answer.Body)
	}
}
