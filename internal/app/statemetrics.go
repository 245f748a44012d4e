package app

import (
	"context"
	"errors"
	"time"

	"github.com/kerf-sh/kerf/internal/controller/cloudcalls"
	"github.com/kerf-sh/kerf/internal/controller/statemetrics"
	"github.com/kerf-sh/kerf/internal/state/cache"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// cloud is the gate, with its calls counted as those of a controller.
func (d *deps) cloud(controller string) cloud.Provider {
	return cloudcalls.Of(controller, d.gate, d.metrics)
}

// stateMetrics shows the cluster's state as metrics.
func (d *deps) stateMetrics(ctx context.Context) error {
	offers := &statemetrics.Offers{State: d.cache, Types: d.gate, Metrics: d.metrics, Log: d.logger("metrics.offers"), Clock: d.clock()}
	if d.overlays != nil {
		offers.Overlays = d.overlays
	}
	changes := &statemetrics.Transitions{Conditions: d.metrics.Conditions, Elected: d.Elected(), Buffers: d.FeatureGates.CapacityBuffer, Clock: d.clock()}
	without := d.LeftOut()
	collector := statemetrics.New(statemetrics.Options{
		State: d.cache, Synced: d.synced, Elected: d.Elected(), Pools: offers.Pools,
		WithoutPods: without.Pods, WithoutNodes: without.Nodes, WithoutConditions: without.Conditions,
	})
	return errors.Join(d.Add(offers), changes.Watch(ctx, d.GetCache()), collector.Register(d.metrics, d.log))
}

// leads reports whether this process has been elected: others would count what the leader counts once more, and so would a shadow
// what the controller counts beside which it runs.
func (d *deps) leads() bool {
	select {
	case <-d.Elected():
		return !d.Shadow
	default:
		return false
	}
}

// moment shows the step of a pod on its way to running.
func (d *deps) moment(m cache.Moment) {
	if !d.leads() {
		return
	}
	switch m.Kind {
	case cache.PodDecided:
		d.metrics.Pods.Decided(m.Since)
	case cache.PodBound:
		d.metrics.Pods.Bound(m.Since, m.SincePlaced)
	case cache.PodStarted:
		d.metrics.Pods.Started(m.Since, m.SincePlaced)
	}
}

// snapshotTook shows how long a snapshot took.
func (d *deps) snapshotTook(waited, took time.Duration) {
	d.metrics.SnapshotWait.Observe(waited.Seconds())
	d.metrics.SnapshotTime.Observe(took.Seconds())
}
