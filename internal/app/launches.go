package app

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/kerf-sh/kerf/internal/aws/fleet"
	"github.com/kerf-sh/kerf/internal/aws/offering"
)

// launchFailed counts what EC2 could not launch.
func (d *deps) launchFailed(f fleet.PoolError) {
	d.metrics.LaunchFailures.WithLabelValues(f.Zone, f.ZoneID, f.CapacityType, f.Reason).Inc()
}

// unavailableOfferings shows what is not asked for at the moment, and wakes the provisioner when something may be asked for again.
func (d *deps) unavailableOfferings(wake func()) manager.Runnable {
	return manager.RunnableFunc(func(ctx context.Context) error {
		d.provider.WatchUnavailable(ctx, func(closed []offering.UnavailableCount, opened bool) {
			d.metrics.Replace(d.metrics.UnavailableOfferings, func(set func(float64, ...string)) {
				for _, c := range closed {
					set(float64(c.Count), c.Scope, c.CapacityType, c.Reason)
				}
			})
			if opened {
				wake()
			}
		})
		return nil
	})
}
