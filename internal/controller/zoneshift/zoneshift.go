// Package zoneshift looks which zones the cluster's traffic is moved away from, and tells when one begins and ends. The
// cloud keeps from launching there; nodes that are there are left alone.
package zoneshift

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/events"
	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

const (
	// every is how often it is looked, unregistered how often whether the cluster has been registered since.
	every        = 30 * time.Second
	unregistered = 10 * time.Minute
)

// Shifts is where the shifts are known.
type Shifts interface {
	// ZoneShifts returns the shifts that are in effect. Errors: *cloud.Error; NotFound when the cluster has none to look
	// for, because it is not registered.
	ZoneShifts(context.Context) ([]cloud.ZoneShift, error)
}

// Controller is the loop.
type Controller struct {
	Client   client.Client
	Shifts   Shifts
	Recorder record.EventRecorder
	Metrics  *obs.Metrics
	Log      *slog.Logger
	Clock    clock.Clock
	// Looked is called after every look, however it went; nil for nobody. The first one lets launches begin.
	Looked func()

	known map[string]cloud.ZoneShift // by zone id
	amiss cloud.ErrorClass           // of the last look, empty when it went well
}

// Start runs until ctx ends, on the leader.
func (c *Controller) Start(ctx context.Context) error {
	for {
		wait := every
		_ = c.Metrics.Recover(c.Log, "zoneshift", func() error { wait = c.Look(ctx); return nil }) // what there is to say is logged
		if c.Looked != nil {
			c.Looked()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-c.Clock.After(wait):
		}
	}
}

// Look is one round; it returns how long to wait for the next.
func (c *Controller) Look(ctx context.Context) time.Duration {
	now, err := c.Shifts.ZoneShifts(ctx)
	wait := every
	if err != nil {
		if ctx.Err() != nil {
			return wait
		}
		class := cloud.ClassOf(err)
		news := class != c.amiss
		c.amiss = class
		if class != cloud.NotFound {
			if news {
				c.Log.Warn("zonal shifts could not be read; what was known of them stays", "error", err)
			}
			return wait
		}
		if wait = unregistered; news {
			c.Log.Warn("the cluster is not registered for zonal shifts, so there are none to heed: enable zonal shift for it in EKS, or unset ENABLE_ZONAL_SHIFT", "error", err)
		}
		now = nil // what was shifted is not any more
	} else {
		c.amiss = ""
	}
	c.tell(ctx, now)
	return wait
}

// tell makes events of what has changed.
func (c *Controller) tell(ctx context.Context, list []cloud.ZoneShift) {
	now := map[string]cloud.ZoneShift{}
	for _, s := range list {
		now[s.ZoneID] = s
	}
	var begun, ended []cloud.ZoneShift
	for _, id := range slices.Sorted(maps.Keys(now)) {
		if _, ok := c.known[id]; !ok {
			begun = append(begun, now[id])
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.known)) {
		if _, ok := now[id]; !ok {
			ended = append(ended, c.known[id])
		}
	}
	if len(begun)+len(ended) == 0 {
		return
	}
	var pools karpv1.NodePoolList
	if err := c.Client.List(ctx, &pools); err != nil {
		c.Log.Warn("could not list nodepools to tell of zonal shifts; no event is written, and the shift is heeded all the same", "error", err)
		return // told of at the next look
	}
	c.known = now
	for _, s := range begun {
		c.Log.Warn("traffic is shifted away from a zone: nothing is launched there, and its nodes are left alone", "zone_id", s.ZoneID, "zone", s.Zone, "until", s.Until)
		for i := range pools.Items {
			c.Recorder.Eventf(&pools.Items[i], corev1.EventTypeWarning, events.ZonalShiftActive, "Traffic is shifted away from zone %s%s: nothing is launched there, and its nodes are left alone", name(s), until(s))
		}
	}
	for _, s := range ended {
		c.Log.Info("traffic is no longer shifted away from a zone", "zone_id", s.ZoneID, "zone", s.Zone)
		for i := range pools.Items {
			c.Recorder.Eventf(&pools.Items[i], corev1.EventTypeNormal, events.ZonalShiftCleared, "Traffic is no longer shifted away from zone %s", name(s))
		}
	}
}

func name(s cloud.ZoneShift) string {
	if s.Zone == "" {
		return s.ZoneID
	}
	return s.Zone + " (" + s.ZoneID + ")"
}

func until(s cloud.ZoneShift) string {
	if s.Until.IsZero() {
		return ""
	}
	return " until " + s.Until.UTC().Format(time.RFC3339)
}
