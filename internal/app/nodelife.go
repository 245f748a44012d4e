package app

import (
	"errors"

	"github.com/kerf-sh/kerf/internal/controller/apply"
	"github.com/kerf-sh/kerf/internal/controller/consistency"
	"github.com/kerf-sh/kerf/internal/controller/expire"
	"github.com/kerf-sh/kerf/internal/controller/repair"
	"github.com/kerf-sh/kerf/internal/controller/static"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/settings"
)

// nodeLife adds the loops that end nodes for what they are, not for what they cost, and the one that keeps their number.
func (p *process) nodeLife(c *gate) error {
	var repairs error
	if p.FeatureGates.NodeRepair {
		repairs = p.Add(&repair.Loop{
			Client: p.GetClient(), Recorder: p.recorder(), Metrics: p.metrics, Log: p.logger("node.health"), Clock: p.clock(), Policies: repair.Policies(), LeftAlone: c.LeftAlone,
		})
	}
	replicas := func() error {
		return p.Add(&static.Ignored{State: p.cache, Recorder: p.recorder(), Metrics: p.metrics, Log: p.logger("static.provisioning"), Clock: p.clock()})
	}
	if shop := p.shop(c); shop != nil {
		replicas = func() error {
			return p.Add(static.New(static.Options{
				Client: p.GetClient(), State: p.cache, Shop: shop, Launcher: p.launcher(), Synced: p.synced, Recorder: p.recorder(), Metrics: p.metrics, Log: p.logger("static.provisioning"), Clock: p.clock(),
			}))
		}
	}
	return errors.Join(
		repairs, replicas(),
		p.Add(&consistency.Loop{
			Client: p.GetClient(), Recorder: p.recorder(), Metrics: p.metrics, Log: p.logger("nodeclaim.consistency"), Clock: p.clock(), Timeout: p.InitializationTimeout, LeftAlone: c.LeftAlone,
		}),
		p.Add(&expire.Loop{
			Client: p.GetClient(), Recorder: p.recorder(), Metrics: p.metrics, Log: p.logger("nodeclaim.expiration"), Clock: p.clock(), Ahead: p.ExpireAhead, StaticCapacity: p.FeatureGates.StaticCapacity,
		}),
	)
}

// shop chooses instances for static NodePools; nil without the feature gate.
func (p *process) shop(c *gate) *static.Shop {
	if !p.FeatureGates.StaticCapacity {
		return nil
	}
	out := &static.Shop{
		Classes: p.cache, Types: c, Subnets: c.Subnets, Clock: p.clock(),
		Pack: pack.Options{WellKnown: apply.WellKnownLabels(), MinValuesBestEffort: p.MinValuesPolicy == settings.BestEffort},
	}
	if overlays := p.overlayStore(); overlays != nil {
		out.Overlays = overlays
	}
	return out
}
