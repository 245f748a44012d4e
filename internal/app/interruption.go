package app

import (
	"context"
	"fmt"
	"time"

	"github.com/kerf-sh/kerf/internal/controller/interruption"
	"github.com/kerf-sh/kerf/internal/settings"
)

// interruption reads the queue, if there is one, and the status of instances.
func (d *deps) interruption(ctx context.Context) error {
	instances := &interruption.Instances{}
	if err := instances.Watch(ctx, d.GetCache(), time.Now); err != nil {
		return fmt.Errorf("watching the instances of this cluster: %w", err)
	}
	loop := &interruption.Controller{
		Options: interruption.Options{
			Receivers: d.QueueReceivers, ReplaceOnRebalance: d.Rebalance == settings.Replace, MaintenanceLead: d.MaintenanceLead,
			Silence: d.QueueSilence, LeftAlone: d.gate.LeftAlone, ReservedCapacity: d.FeatureGates.ReservedCapacity,
		},
		Client: d.GetClient(), APIReader: d.GetAPIReader(), Cloud: d.cloud("interruption"), Statuses: d.provider.Statuses(), Instances: instances, Recorder: d.events, Metrics: d.metrics, Log: d.logger("interruption"), Clock: d.clock(),
	}
	if q := d.provider.Queue(); q != nil {
		loop.Queue = q
	} else {
		d.logger("interruption").Warn("INTERRUPTION_QUEUE is not set: spot interruptions are seen only when the instances are gone")
	}
	return d.Add(loop)
}
