package overview

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
)

// TestALineOfManyNodesHasFiguresOfNone: what is said of one node would be wrong of the others.
func TestALineOfManyNodesHasFiguresOfNone(t *testing.T) {
	d, s := &disrupt.Decision{}, &cluster.Snapshot{}
	for i, saves := range []string{"0.0066", "0.0500"} {
		name := fmt.Sprint("n", i)
		s.Nodes = append(s.Nodes, &cluster.Node{Name: name, Pool: "p"})
		d.Kept = append(d.Kept, disrupt.Kept{Node: name, Saves: 1000, Reasons: []disrupt.Reason{{Code: disrupt.SpotToSpotOff, Want: "0", Have: saves}}})
	}
	o := New(Sources{Snapshot: func() *cluster.Snapshot { return s }, Decision: func() *disrupt.Decision { return d }, Now: time.Now})
	lines := o.Document(t.Context(), "").Blocked
	if len(lines) != 1 || lines[0].Count != 2 || lines[0].Saves != 2000 || strings.Contains(lines[0].Text, "0.0") {
		t.Errorf("%+v", lines)
	}
}

// TestBlockedSavingsAreSteady: what passes neither blocks nor takes the place of what does; what is being saved is not blocked.
func TestBlockedSavingsAreSteady(t *testing.T) {
	now, d := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), &disrupt.Decision{}
	s := &cluster.Snapshot{Nodes: []*cluster.Node{{Name: "n", Pool: "p"}}}
	o := New(Sources{Snapshot: func() *cluster.Snapshot { return s }, Decision: func() *disrupt.Decision { return d }, Now: func() time.Time { return now }})
	for i, step := range []struct {
		after time.Duration
		code  disrupt.Code
		saves catalog.MicroUSD
		want  string
	}{
		{0, disrupt.Nominated, 1000, ""},
		{time.Second, disrupt.NotPaidBack, 1000, "NotPaidBack 1000"},
		{time.Second, disrupt.TakesPods, 0, "NotPaidBack 1000"},
		{time.Second, disrupt.NotPaidBack, 0, "NotPaidBack 1000"}, // how much is not known this time
		{time.Second, disrupt.PendingPods, 1000, "NotPaidBack 1000"},
		{time.Second, disrupt.BudgetUsed, 700, "BudgetUsed 700"},
		{time.Second, disrupt.NotCheaper, 0, ""}, // it is kept because nothing is cheaper
		{time.Second, disrupt.NotPaidBack, 1000, "NotPaidBack 1000"},
		{time.Second, disrupt.InProgress, 1000, ""},
		{time.Second, disrupt.NotPaidBack, 1000, "NotPaidBack 1000"},
		{blockedFor - time.Second, disrupt.TakesPods, 0, "NotPaidBack 1000"},
		{time.Second, disrupt.TakesPods, 0, ""},
		{time.Second, disrupt.DisruptionBudget, 1000, "PodDisruptionBudget 1000"},
		{time.Second, disrupt.NotReady, 1000, "PodDisruptionBudget 1000"}, // of which budgets are not asked for
		{time.Second, disrupt.TakesPods, 0, ""},                           // the budget would have been found before
		{time.Second, disrupt.NotPaidBack, 1000, "NotPaidBack 1000"},
		{time.Second, disrupt.NotPaidBack, 99, ""}, // less than is written
		{time.Second, "", 0, ""},                   // nothing keeps it
	} {
		now = now.Add(step.after)
		d = &disrupt.Decision{}
		if step.code != "" {
			d.Kept = []disrupt.Kept{{Node: "n", Saves: step.saves, Reasons: []disrupt.Reason{{Code: step.code, Pod: "a/b"}}}}
		}
		got := ""
		for _, l := range o.Document(t.Context(), "").Blocked {
			got = fmt.Sprint(l.Code, " ", int64(l.Saves))
		}
		if got != step.want {
			t.Errorf("step %d, %s: %q is blocked, want %q", i, step.code, got, step.want)
		}
	}
}

// TestWhatSavesMostIsNamedFirst, and nodes of several NodePools that a feature gate keeps are one line.
func TestWhatSavesMostIsNamedFirst(t *testing.T) {
	var nodes []*known
	for i, saves := range []catalog.MicroUSD{2000, 90000, 500} {
		n := &cluster.Node{Name: string(rune('a' + i)), Pool: fmt.Sprint("pool-", i%2)}
		nodes = append(nodes, &known{from: n, blocker: &blocker{reason: &disrupt.Reason{Code: disrupt.SpotToSpotOff}, saves: saves}})
	}
	got := blocked(nodes, time.Now())
	if len(got) != 1 || got[0].Saves != 92500 || !slices.Equal(got[0].Nodes, []string{"b", "a", "c"}) {
		t.Errorf("%+v", got)
	}
}
