package app

import (
	"context"
	"time"

	"github.com/kerf-sh/kerf/internal/controller/disrupt"
	"github.com/kerf-sh/kerf/internal/controller/overview"
	"github.com/kerf-sh/kerf/internal/controller/provision"
	"github.com/kerf-sh/kerf/internal/engine/record"
	"github.com/kerf-sh/kerf/internal/state/cache"
)

// provisioner makes the loop that decides where pods go. Its decisions are kept together with the last one of consolidation, which
// learns what was launched for whom. settle launches what static NodePools lack; it may be nil.
func (d *deps) provisioner(consolidation *disrupt.Loop, view *overview.Overview, settle func(context.Context)) *provision.Controller {
	owners := &provision.Owners{Reader: d.GetAPIReader(), Settled: d.cache.Settled, Now: time.Now}
	return provision.New(provision.Options{
		State: d.cache, Types: d.cloud("provisioner"), Overlays: d.overlays, Subnets: d.provider.Subnets, Applier: d.applier, First: settle, Synced: d.synced, BatchIdle: d.BatchIdleDuration, BatchMax: d.BatchMaxDuration,
		Missing: owners.Missing, Reserved: d.cache.Reserved, WholeBatches: !d.EarlyBatches, PriceBound: d.LaunchPriceBound,
		Pack: PackOptions(d.Settings), Currency: d.currency,
		Retry:   d.provider.Retry,
		Settle:  d.settle(),
		Record:  func(x *record.Decision) { view.Planned(x.Plan, x.Left...); d.recorded(x, consolidation) },
		Meter:   meter{d.metrics, d.cache},
		Trace:   d.trace,
		Recover: func(name string, fn func() error) error { return d.metrics.Recover(d.logger("provisioner"), name, fn) },
		Log:     d.logger("provisioner"),
		Clock:   d.clock(),
	})
}

// settle is told where virtual pods have their room; nil without the feature gate.
func (d *deps) settle() func([]cache.Room) {
	if !d.FeatureGates.CapacityBuffer {
		return nil
	}
	return d.cache.SettleRooms
}

// recorded keeps a decision on pods together with the last one on consolidation, and lets the governor know what was
// launched for whom.
func (d *deps) recorded(x *record.Decision, consolidation *disrupt.Loop) {
	x.Disruption = consolidation.Found()
	var launched []disrupt.Launch
	for _, c := range x.Claims {
		node := &x.Plan.NewNodes[c.NewNode]
		b := disrupt.Launch{Price: node.Price, Currency: x.Problem.Options.Currency}
		for _, ref := range node.Pods {
			if pod := d.cache.Pod(ref); pod != nil {
				b.Pods = append(b.Pods, pod)
			}
		}
		launched = append(launched, b)
	}
	consolidation.Launched(launched)
	d.ring.Add(x)
}
