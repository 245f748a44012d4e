package app

import overlays "github.com/kerf-sh/kerf/internal/controller/overlay"

// nodeOverlays evaluates NodeOverlays, and wakes the provisioner when others are in use.
func (d *deps) nodeOverlays(wake func()) error {
	return (&overlays.Controller{
		Client: d.GetClient(), Types: d.cloud("nodeoverlay.validation"), Store: d.overlays, Changed: wake, Metrics: d.metrics, Log: d.logger("nodeoverlay.validation"), Clock: d.clock(),
	}).Register(d.Manager)
}
