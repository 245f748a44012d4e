package app

import (
	"errors"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/kerf-sh/kerf/internal/controller/apply"
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

// launcher is the one applier of the process: all that launch instances count what the others launched.
func (p *process) launcher() *apply.Applier {
	if p.applier == nil {
		p.applier = apply.New(apply.Options{Client: p.GetClient(), Reader: p.GetAPIReader(), State: p.cache, Recorder: p.recorder(), Log: p.log})
	}
	return p.applier
}

// disruption adds what lets nodes go.
func (p *process) disruption(c *gate) error {
	queue := &disrupt.Queue{
		Client: p.GetClient(), APIReader: p.GetAPIReader(), State: p.cache, Launcher: p.launcher(), Recorder: p.recorder(), Metrics: p.metrics, Log: p.logger("disruption"), Clock: p.clock(),
	}
	problems := &provision.Problems{
		State: p.cache, Types: c, Overlays: p.overlayStore(), Subnets: c.Subnets, Pack: PackOptions(p.Settings), Now: time.Now, Late: func() {},
		Recover: func(name string, fn func() error) error { return p.metrics.Recover(p.logger("disruption"), name, fn) },
	}
	lasting := *problems
	lasting.Lasting = true
	p.consolidation = &disrupt.Loop{
		Client: p.GetClient(), Queue: queue, State: p.cache, Breaker: disrupt.NewBreaker(), Problem: lasting.Problem, Synced: p.synced, LeftAlone: c.LeftAlone,
		Options:  ConsolidationOptions(p.Settings),
		Recorder: p.recorder(), Metrics: p.metrics, Log: p.logger("disruption"), Clock: p.clock(), Record: p.recordedDisruption, Decided: p.ring.SetDisruption,
		Without: p.without,
	}
	drift := &disrupt.Drift{
		Queue: queue, State: p.cache, Problem: problems.Problem, Synced: p.synced, LeftAlone: c.LeftAlone,
		Recorder: p.recorder(), Metrics: p.metrics, Log: p.logger("disruption"), Clock: p.clock(), Record: p.recordedDisruption,
	}
	if shop := p.shop(c); shop != nil {
		drift.Bare = shop.Bare
	}
	queue.Finished = drift.Finished
	writer := &disrupt.Consolidatable{Client: p.GetClient(), State: p.cache, Metrics: p.metrics, Log: p.logger("nodeclaim.disruption"), Clock: p.clock()}
	return errors.Join(p.Add(manager.RunnableFunc(queue.Run)), p.Add(p.consolidation), p.Add(drift), p.Add(manager.RunnableFunc(writer.Run)))
}

// recordedDisruption keeps a decision on which nodes go.
func (p *process) recordedDisruption(problem *engine.Problem, cause engine.Cause, due []string, d *engine.Decision, begun []engine.Move) {
	p.ring.Add(record.OnDisruption(version.Version, problem, cause, due, d, begun))
}

// recorded keeps a decision on pods together with the last one on consolidation, and lets the breaker know what was
// launched for whom.
func (p *process) recorded(d *record.Decision) {
	if p.consolidation != nil {
		d.Disruption = p.consolidation.Last()
		var launched []disrupt.Launch
		for _, c := range d.Claims {
			node := &d.Plan.NewNodes[c.NewNode]
			b := disrupt.Launch{Price: node.Price}
			for _, ref := range node.Pods {
				if pod := p.cache.Pod(ref); pod != nil {
					b.Pods = append(b.Pods, pod)
				}
			}
			launched = append(launched, b)
		}
		p.consolidation.Launched(launched)
	}
	p.ring.Add(d)
}
