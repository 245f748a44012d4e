package app

import (
	"errors"

	"github.com/kerf-sh/kerf/internal/apply"
	"github.com/kerf-sh/kerf/internal/controller/consistency"
	"github.com/kerf-sh/kerf/internal/controller/expire"
	"github.com/kerf-sh/kerf/internal/controller/repair"
	"github.com/kerf-sh/kerf/internal/controller/static"
	"github.com/kerf-sh/kerf/internal/pack"
	"github.com/kerf-sh/kerf/internal/settings"
)

// nodeLife adds the loops that end nodes for what they are, not for what they cost, and the one that keeps their number.
func (p *process) nodeLife(c *gate) error {
	var repairs, replicas error
	if p.FeatureGates.NodeRepair {
		repairs = p.Add(&repair.Loop{Client: p.GetClient(), Recorder: p.recorder(), Metrics: p.metrics, Log: p.log, Clock: p.clock(), Policies: repair.Policies()})
	}
	if p.FeatureGates.StaticCapacity {
		o := static.Options{
			Client: p.GetClient(), State: p.cache, Types: c, Buyer: p.buyer(), Synced: p.synced, Recorder: p.recorder(), Metrics: p.metrics, Log: p.log, Clock: p.clock(),
			Pack: pack.Options{WellKnown: apply.WellKnownLabels(), MinValuesBestEffort: p.MinValuesPolicy == settings.BestEffort},
		}
		if overlays := p.overlayStore(); overlays != nil {
			o.Overlays = overlays
		}
		replicas = p.Add(static.New(o))
	}
	return errors.Join(
		repairs, replicas,
		p.Add(&consistency.Loop{Client: p.GetClient(), Recorder: p.recorder(), Metrics: p.metrics, Log: p.log, Clock: p.clock(), Timeout: p.InitializationTimeout}),
		p.Add(&expire.Loop{
			Client: p.GetClient(), Recorder: p.recorder(), Metrics: p.metrics, Log: p.log, Clock: p.clock(), Ahead: p.ExpireAhead, StaticCapacity: p.FeatureGates.StaticCapacity,
		}),
	)
}
