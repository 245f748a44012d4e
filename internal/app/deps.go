package app

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kerf-sh/kerf/internal/aws"
	"github.com/kerf-sh/kerf/internal/aws/dependency"
	"github.com/kerf-sh/kerf/internal/aws/session"
	"github.com/kerf-sh/kerf/internal/controller/access"
	"github.com/kerf-sh/kerf/internal/controller/apply"
	"github.com/kerf-sh/kerf/internal/controller/decisions"
	"github.com/kerf-sh/kerf/internal/controller/events"
	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/controller/overview"
	"github.com/kerf-sh/kerf/internal/controller/static"
	"github.com/kerf-sh/kerf/internal/settings"
	"github.com/kerf-sh/kerf/internal/state/cache"
	"github.com/kerf-sh/kerf/internal/state/cloud/overlay"
	"github.com/kerf-sh/kerf/internal/state/intake"
	"github.com/kerf-sh/kerf/internal/trace"
)

// deps is what loops are made of. surroundings says what a process is given; newDeps makes the rest in the order of the fields,
// each of what stands above it. Once a loop is made, nothing in here is set any more.
type deps struct {
	surroundings

	lanes    *obs.Lanes    // write events; RunIn stops them when all loops have ended
	events   *obs.Recorder // of all loops; it drops events that say the same of the same object within two minutes
	cache    *cache.Cache
	synced   func() bool    // whether the first lists are in the cache
	applier  *apply.Applier // one for all, so that all that launch instances count what the others launched
	overlays *overlay.Store // NodeOverlays in use; nil without the feature gate
	ca       func() string  // what instances trust the API server by
	provider *aws.Provider  // it asks AWS for nothing before it is started
	gate     *gate          // the same, which holds launches back at the start
	shop     *static.Shop   // chooses instances for static NodePools; nil without the feature gate
}

// surroundings are what deps are made of.
type surroundings struct {
	settings.Settings
	ctrl.Manager
	aws      session.Options
	log      *slog.Logger
	metrics  *obs.Metrics
	trace    *trace.Tracer // nil records nothing
	config   *rest.Config
	ring     *decisions.Ring    // keeps the last decisions; nil keeps none
	services *dependency.Health // of AWS
	readers  *access.Gate       // who may read what the metrics port serves beside metrics
	without  []string           // mechanisms of disruption
	overview func(*overview.Overview)
	clocks   func() clock.WithTicker // nil makes real ones
}

// newDeps makes what loops need. provide makes the provider of what stands above it.
//
// Errors: settings that can't be read, by name; a kind that can't be watched; those of provide.
func newDeps(ctx context.Context, s surroundings, provide func(context.Context, *deps) (*aws.Provider, error)) (*deps, error) {
	d := &deps{surroundings: s}
	var err error
	if d.lanes, err = d.newLanes(); err != nil {
		return nil, err
	}
	d.events = obs.NewRecorder(d.lanes, 2*time.Minute, time.Now)
	if d.cache, d.synced, err = d.newCache(ctx); err != nil {
		return nil, err
	}
	d.applier = apply.New(apply.Options{Client: d.GetClient(), Reader: d.GetAPIReader(), State: d.cache, Recorder: d.events, Log: d.log, Trace: d.trace, PriceBound: d.LaunchPriceBound})
	if d.FeatureGates.NodeOverlay {
		d.overlays = overlay.New()
	}
	if d.ca, err = caBundle(d.Settings, d.config, d.log); err != nil {
		return nil, err
	}
	if d.provider, err = provide(ctx, d); err != nil {
		return nil, err
	}
	d.gate = newGate(d.provider, d.GetAPIReader(), d.log, d.EnableZonalShift)
	if d.FeatureGates.StaticCapacity {
		d.shop = d.newShop()
	}
	return d, nil
}

// newLanes makes what writes events, with limits of its own for its requests.
func (d *deps) newLanes() (*obs.Lanes, error) {
	c, err := typedcorev1.NewForConfigAndClient(d.GetConfig(), d.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("making a client for events: %w", err)
	}
	return obs.NewLanes(&typedcorev1.EventSinkImpl{Interface: c.Events("")}, d.GetScheme(), component), nil
}

// newCache makes the cluster's state, the indexes that controllers share, and what asks the state for one node or pod.
func (d *deps) newCache(ctx context.Context) (*cache.Cache, func() bool, error) {
	if err := index.Add(ctx, d.GetFieldIndexer()); err != nil {
		return nil, nil, err
	}
	spreads, err := intake.ParseDefaultSpreads(d.SchedulerConfig)
	if err != nil {
		return nil, nil, fmt.Errorf("SCHEDULER_CONFIG: %w", err)
	}
	state := cache.New(cache.Options{DefaultSpreads: spreads, CapacityBuffers: d.FeatureGates.CapacityBuffer, Failed: d.setAside, Moment: d.moment, Took: d.snapshotTook})
	state.Listen(func(c cache.Change) {
		if c.Kind == cache.PodPlaced {
			d.metrics.Placed.Note(c.Disruption, c.AsPlanned)
		}
	})
	synced, err := state.Watch(ctx, d.GetCache())
	if err != nil {
		return nil, nil, fmt.Errorf("watching the cluster: %w", err)
	}
	d.ring.SetPods(d.podNow)
	return state, synced, nil
}

// setAside tells of an object that can't be taken in, on itself.
func (d *deps) setAside(o client.Object, err error) {
	d.events.Eventf(o, corev1.EventTypeWarning, events.InternalError, "it could not be read and is set aside; that is tried again: %v", err)
}

// logger is the log of one of the loops, under the name that log pipelines know it by where Karpenter has it too.
func (d *deps) logger(controller string) *slog.Logger { return d.log.With("controller", controller) }

// clock is what one loop waits by.
func (d *deps) clock() clock.WithTicker {
	if d.clocks != nil {
		return d.clocks()
	}
	return clock.RealClock{}
}
