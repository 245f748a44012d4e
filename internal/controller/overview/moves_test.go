package overview

import (
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
)

// TestAMoveSaysWhenItBegins, and for how long it has to be found where that is longer than a moment.
func TestAMoveSaysWhenItBegins(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	move := func(m disrupt.Move) *disrupt.Move { m.Cause = disrupt.Underutilized; return &m }
	for name, tc := range map[string]struct {
		found *disrupt.Move
		in    time.Duration
		waits string
	}{
		"a large saving":     {move(disrupt.Move{Stood: 2 * time.Second}), 3 * time.Second, ""},
		"a small saving":     {move(disrupt.Move{Wait: 328 * time.Second, Stood: 28 * time.Second}), 5 * time.Minute, "a saving this small must last 5m28s first"},
		"onto a node":        {move(disrupt.Move{Onto: 25 * time.Second}), 30 * time.Second, "by then it is known whether a node that its pods go to is removed itself"},
		"one that has stood": {move(disrupt.Move{Wait: time.Minute, Stood: time.Hour}), 0, "a saving this small must last 1m0s first"},
	} {
		var m Move
		m.waits(tc.found, now)
		if !m.Begins.Equal(now.Add(tc.in)) || m.Waits != tc.waits {
			t.Errorf("%s begins %s from now, %q; want %s, %q", name, m.Begins.Sub(now), m.Waits, tc.in, tc.waits)
		}
	}
}

// TestADrainSaysWhatItWaitsFor where that is a pod which may not be evicted.
func TestADrainSaysWhatItWaitsFor(t *testing.T) {
	now := time.Now()
	s := &cluster.Snapshot{Nodes: []*cluster.Node{{Name: "n", Claim: "c", Launched: true, Registered: true, Initialized: true, Ready: true, Deleting: true}}}
	var stalls []Stall
	o := New(Sources{Snapshot: func() *cluster.Snapshot { return s }, Stalls: func() []Stall { return stalls }, Now: func() time.Time { return now }})
	if m := o.Document(t.Context(), "").Moves; len(m) != 1 || m[0].Why != "their pods are being evicted, or they wait for that" {
		t.Errorf("%+v", m)
	}
	stalls = []Stall{{Node: "n", Text: "pod a/b can't be evicted: its PodDisruptionBudget b allows no disruption now", Since: now}}
	if m := o.Document(t.Context(), "").Moves; len(m) != 1 || m[0].Why != "n: pod a/b can't be evicted: its PodDisruptionBudget b allows no disruption now" {
		t.Errorf("%+v", m)
	}
}
