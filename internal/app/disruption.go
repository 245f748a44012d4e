package app

import (
	"time"

	"github.com/kerf-sh/kerf/internal/controller/disrupt"
	"github.com/kerf-sh/kerf/internal/controller/provision"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	engine "github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/record"
	"github.com/kerf-sh/kerf/internal/settings"
	"github.com/kerf-sh/kerf/internal/version"
)

// What moving is held to cost besides pods (--kerf-pod-disruption-cost): an instance that is paid for beside the one that it
// replaces until that is empty. A move must earn that back within a day, and before the nodes would have gone anyway.
const (
	nodePrice = 10_000 // micro-USD; at least
	overlap   = 3 * time.Minute
)

// ConsolidationOptions are the settings of decisions on which nodes could go.
func ConsolidationOptions(s settings.Settings) engine.Options {
	o := engine.Options{SpotToSpot: s.FeatureGates.SpotToSpotConsolidation, SmallSavingsWait: s.SmallSavingsWait}
	if s.PodDisruptionCost >= 0 {
		o.PodPrice, o.NodePrice, o.Overlap = catalog.MicroUSD(s.PodDisruptionCost), nodePrice, overlap
	}
	if o.SmallSavingsWait == 0 {
		o.SmallSavingsWait = -1 // the setting's 0 means that none waits
	}
	return o
}

// disruption makes the queue of commands, and the loop that decides on consolidation and the replacement of nodes that have drifted.
func (d *deps) disruption() (*disrupt.Queue, *disrupt.Loop) {
	queue := &disrupt.Queue{
		Client: d.GetClient(), APIReader: d.GetAPIReader(), State: d.cache, Launcher: d.applier, Recorder: d.events, Metrics: d.metrics, Log: d.logger("disruption"), Clock: d.clock(), Trace: d.trace,
	}
	problems := &provision.Problems{
		State: d.cache, Types: d.cloud("disruption"), Overlays: d.overlays, Subnets: d.gate.Subnets, Pack: PackOptions(d.Settings), Currency: d.currency, Now: time.Now, Late: func() {},
		Recover: func(name string, fn func() error) error { return d.metrics.Recover(d.logger("disruption"), name, fn) },
	}
	lasting := *problems
	lasting.Lasting = true
	loop := &disrupt.Loop{
		Queue: queue, State: d.cache, Problem: lasting.Replacing, DriftProblem: problems.Replacing, Synced: d.settled, LeftAlone: d.gate.LeftAlone,
		Options: ConsolidationOptions(d.Settings),
		Metrics: d.metrics, Log: d.logger("disruption"), Clock: d.clock(), Record: d.recordedDisruption, Decided: d.ring.SetDisruption,
		Without: map[string]bool{},
	}
	if d.shop != nil {
		loop.Bare = d.shop.Bare
	}
	for _, mechanism := range d.without {
		loop.Without[mechanism] = true
	}
	queue.InTurn = d.SoftTaints
	queue.Finished = func(c disrupt.Command, failed string) {
		loop.Finished(c, failed)
		d.ring.Finished(c.ID, failed)
	}
	return queue, loop
}

// settled reports whether the first lists are in the cache, and whether it is known which zones are left alone.
func (d *deps) settled() bool { return d.synced() && d.gate.shiftsKnown() }

// candidates makes what asks pods to avoid nodes that are due to go.
func (d *deps) candidates(queue *disrupt.Queue, consolidation *disrupt.Loop) *disrupt.Candidates {
	return &disrupt.Candidates{
		Queue: queue, State: d.cache, Moves: consolidation.Found, Off: !d.SoftTaints, Synced: d.synced, Metrics: d.metrics, Log: d.logger("disruption.candidates"), Clock: d.clock(),
	}
}

// consolidatable makes what writes the condition of that name.
func (d *deps) consolidatable() *disrupt.Consolidatable {
	return &disrupt.Consolidatable{Client: d.GetClient(), State: d.cache, Metrics: d.metrics, Log: d.logger("nodeclaim.disruption"), Clock: d.clock()}
}

// recordedDisruption keeps a decision on which nodes go.
func (d *deps) recordedDisruption(problem *engine.Problem, cause engine.Cause, due []string, x *engine.Decision, begun []engine.Move, ids []string) {
	d.ring.Add(record.OnDisruption(version.Version, problem, cause, due, x, begun, ids))
}
