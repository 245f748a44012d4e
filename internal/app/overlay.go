package app

import (
	overlays "github.com/kerf-sh/kerf/internal/controller/overlay"
	"github.com/kerf-sh/kerf/internal/state/cloud"
	"github.com/kerf-sh/kerf/internal/state/cloud/overlay"
)

// overlayStore is where NodeOverlays in use are kept, nil without the feature gate.
func (p *process) overlayStore() *overlay.Store {
	if p.FeatureGates.NodeOverlay && p.overlays == nil {
		p.overlays = overlay.New()
	}
	return p.overlays
}

// nodeOverlays evaluates NodeOverlays, and wakes the provisioner when others are in use.
func (p *process) nodeOverlays(c cloud.Provider, wake func()) error {
	if !p.FeatureGates.NodeOverlay {
		return nil
	}
	return (&overlays.Controller{
		Client: p.GetClient(), Types: c, Store: p.overlayStore(), Changed: wake, Metrics: p.metrics, Log: p.logger("nodeoverlay.validation"), Clock: p.clock(),
	}).Register(p.Manager)
}
