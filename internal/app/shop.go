package app

import (
	"github.com/kerf-sh/kerf/internal/controller/apply"
	"github.com/kerf-sh/kerf/internal/controller/static"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/settings"
)

// newShop makes what chooses instances for static NodePools.
func (d *deps) newShop() *static.Shop {
	out := &static.Shop{
		Classes: d.cache, Types: d.cloud("static.provisioning"), Subnets: d.gate.Subnets, Clock: d.clock(),
		Pack: pack.Options{WellKnown: apply.WellKnownLabels(), MinValuesBestEffort: d.MinValuesPolicy == settings.BestEffort},
	}
	if d.overlays != nil {
		out.Overlays = d.overlays
	}
	return out
}
