package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/controller/buffer"
	"github.com/kerf-sh/kerf/internal/controller/consistency"
	"github.com/kerf-sh/kerf/internal/controller/daemon"
	"github.com/kerf-sh/kerf/internal/controller/drift"
	"github.com/kerf-sh/kerf/internal/controller/expire"
	"github.com/kerf-sh/kerf/internal/controller/garbagecollection"
	"github.com/kerf-sh/kerf/internal/controller/lifecycle"
	"github.com/kerf-sh/kerf/internal/controller/nodeclass"
	"github.com/kerf-sh/kerf/internal/controller/nodepool"
	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/controller/repair"
	"github.com/kerf-sh/kerf/internal/controller/reserved"
	"github.com/kerf-sh/kerf/internal/controller/static"
	"github.com/kerf-sh/kerf/internal/controller/tagging"
	"github.com/kerf-sh/kerf/internal/controller/terminate"
	"github.com/kerf-sh/kerf/internal/controller/transitions"
	"github.com/kerf-sh/kerf/internal/controller/zoneshift"
)

// workersPerCore is how many objects of a kind are worked on at a time for each core that the container asked for. Most
// of that time is waiting for an API.
const workersPerCore = 64

// drainsPerWorker is how many times as many nodes drain at a time: what a drain does is to wait for the API server, and for the webhooks
// of others that may hold each eviction for seconds.
const drainsPerWorker = 4

// loops makes the loops and hands them to the manager, one line for each. Which of them run is said here; what each is made of,
// in a function of its own where it takes more than the deps have.
func (d *deps) loops(ctx context.Context) error {
	workers := max(16, int(d.CPURequests)*workersPerCore/1000)
	health := nodepool.NewHealth()
	queue, consolidation := d.disruption()
	drains := &terminate.Nodes{Client: d.GetClient(), Cloud: d.cloud("node.termination"), Recorder: d.events, Metrics: d.metrics, Log: d.logger("node.termination"), Clock: d.clock(), Replacements: d.cache, Trace: d.trace}
	view := d.newOverview(queue, consolidation, drains)
	fixed, settle := d.staticPools()
	provisioner := d.provisioner(consolidation, view, settle)

	// What AWS tells, and what the adapter keeps up.
	errs := []error{
		d.startAWS(),
		d.Add(everywhere(d.watchServices)),
		d.Add(d.gate),
		d.Add(manager.RunnableFunc(func(ctx context.Context) error { d.provider.CollectTemplates(ctx); return nil })),
		d.Add(&profileCollector{provider: d.provider, client: d.GetClient(), log: d.log}),
		d.Add(d.unavailableOfferings(provisioner.Trigger)),
		d.guestMemory(),
	}
	if d.EnableZonalShift {
		errs = append(errs, d.Add(&zoneshift.Controller{Client: d.GetClient(), Shifts: d.gate, Recorder: d.events, Metrics: d.metrics, Log: d.logger("zonalshift"), Clock: d.clock(), Looked: d.gate.looked}))
	}

	// Pods to nodes.
	errs = append(errs,
		d.Add(provisioner),
		d.launches(health, workers),
		tagging.New(d.GetClient(), d.cloud("nodeclaim.tagging"), d.ClusterName, d.metrics, d.logger("nodeclaim.tagging"), d.clock()).Register(d.Manager),
		(&daemon.Controller{Client: d.GetClient(), State: d.cache, Recorder: obs.NewRecorder(d.events, daemon.Repeat, time.Now), Metrics: d.metrics, Log: d.logger("pod.daemon")}).Register(d.Manager),
		d.Add(fixed),
	)
	if d.FeatureGates.NodeOverlay {
		errs = append(errs, d.nodeOverlays(provisioner.Trigger))
	}
	if d.FeatureGates.CapacityBuffer {
		errs = append(errs, d.Add(buffer.New(buffer.Options{
			Client: d.GetClient(), State: d.cache, Log: d.logger("capacitybuffer"), Now: time.Now,
			Recover: func(name string, fn func() error) error { return d.metrics.Recover(d.log, name, fn) },
		})))
	}

	// Nodes away: because of what they cost or differ in, of what they are, of what AWS says; and how.
	errs = append(errs,
		d.Add(manager.RunnableFunc(queue.Run)),
		d.Add(consolidation),
		d.Add(manager.RunnableFunc(d.consolidatable().Run)),
		d.Add(d.candidates(queue, consolidation)),
		(&drift.Controller{Client: d.GetClient(), Instances: d.gate, Types: d.cloud("nodeclaim.disruption"), Metrics: d.metrics, Log: d.logger("nodeclaim.disruption"), Clock: d.clock()}).Register(d.Manager),
		d.Add(&expire.Loop{
			Client: d.GetClient(), Recorder: d.events, Metrics: d.metrics, Log: d.logger("nodeclaim.expiration"), Clock: d.clock(), Ahead: d.ExpireAhead, StaticCapacity: d.FeatureGates.StaticCapacity,
			LeftAlone: d.gate.LeftAlone,
		}),
		d.Add(&consistency.Loop{
			Client: d.GetClient(), Recorder: d.events, Metrics: d.metrics, Log: d.logger("nodeclaim.consistency"), Clock: d.clock(), Timeout: d.InitializationTimeout, LeftAlone: d.gate.LeftAlone,
		}),
	)
	if d.FeatureGates.NodeRepair {
		errs = append(errs, d.Add(&repair.Loop{
			Client: d.GetClient(), Recorder: d.events, Metrics: d.metrics, Log: d.logger("node.health"), Clock: d.clock(), Policies: repair.Policies(), LeftAlone: d.gate.LeftAlone,
		}))
	}
	errs = append(errs,
		d.interruption(ctx),
		// Instances that run out of reservations are followed whether or not more may be launched.
		d.Add(&reserved.Loop{Client: d.GetClient(), Cloud: d.cloud("capacityreservation.expiration"), Reservations: d.gate, Recorder: d.events, Metrics: d.metrics, Log: d.logger("capacityreservation.expiration"), Clock: d.clock()}),
		d.garbageCollection(ctx),
		(&terminate.Claims{Client: d.GetClient(), Cloud: d.cloud("nodeclaim.lifecycle"), Recorder: d.events, Metrics: d.metrics, Log: d.logger("nodeclaim.lifecycle"), Clock: d.clock(), Trace: d.trace}).Register(d.Manager, workers),
		drains.Register(d.Manager, drainsPerWorker*workers),
	)

	// Status, and what watches the others.
	errs = append(errs, d.serveOverview(view)...)
	if d.FloorEvery > 0 {
		errs = append(errs, d.Add(d.floorMetric()))
	}
	changes := &transitions.Publisher{Recorder: d.events, ReservedCapacity: d.FeatureGates.ReservedCapacity, Elected: d.Elected(), Clock: d.clock()}
	return errors.Join(append(errs,
		(&nodepool.Controller{Client: d.GetClient(), State: d.cache, Synced: d.synced, Metrics: d.metrics, Log: d.logger("nodepool"), Clock: d.clock(), Health: health, Types: d.cloud("nodepool")}).Register(d.Manager),
		(&nodeclass.Controller{
			Client: d.GetClient(), Cloud: d.cloud("nodeclass"), Recorder: d.events, Metrics: d.metrics, Log: d.logger("nodeclass"), Clock: d.clock(), ReservedCapacity: d.FeatureGates.ReservedCapacity,
			Hash: func(class *awsv1.EC2NodeClass) string { return class.Hash(d.ca()) }, HashVersion: awsv1.EC2NodeClassHashVersion,
		}).Register(d.Manager),
		changes.Watch(ctx, d.GetCache()),
		d.stateMetrics(ctx),
		d.Add(&selfCheck{cache: d.cache, reader: d.GetAPIReader(), metrics: d.metrics, log: d.log}),
	)...)
}

// launches makes the controller that launches instances and brings them to be nodes.
func (d *deps) launches(health *nodepool.Health, workers int) error {
	pods, err := d.sameLimitsAgain()
	if err != nil {
		return err
	}
	var nominees lifecycle.Nominees
	if d.Nominate {
		nominees = d.cache
	}
	return (&lifecycle.Controller{
		Client: d.GetClient(), Cloud: d.cloud("nodeclaim.lifecycle"), Recorder: d.events, Metrics: d.metrics, Log: d.logger("nodeclaim.lifecycle"), Clock: d.clock(), Pools: health, Waiting: d.cache, Nominees: nominees, Pods: pods, Instances: d.gate, Trace: d.trace, Currency: d.currency,
		LaunchTimeout: d.LaunchTimeout, RegistrationTimeout: d.RegistrationTimeout,
	}).Register(d.Manager, workers)
}

// staticPools keeps the number of nodes of static NodePools, or says that they are left alone. settle has it launch what they lack; nil
// where they are left alone.
func (d *deps) staticPools() (loop manager.Runnable, settle func(context.Context)) {
	if d.shop == nil {
		return &static.Ignored{State: d.cache, Recorder: d.events, Metrics: d.metrics, Log: d.logger("static.provisioning"), Clock: d.clock()}, nil
	}
	keeper := static.New(static.Options{
		Client: d.GetClient(), State: d.cache, Shop: d.shop, Launcher: d.applier, Synced: d.synced, Recorder: d.events, Metrics: d.metrics, Log: d.logger("static.provisioning"), Clock: d.clock(),
	})
	return keeper, keeper.Settle
}

// garbageCollection makes instances and NodeClaims agree.
func (d *deps) garbageCollection(ctx context.Context) error {
	leaks := &garbagecollection.Collector{Client: d.GetClient(), APIReader: d.GetAPIReader(), Cloud: d.cloud("nodeclaim.garbagecollection"), Recorder: d.events, Metrics: d.metrics, Log: d.logger("nodeclaim.garbagecollection"), Clock: d.clock()}
	return errors.Join(leaks.Watch(ctx, d.GetCache()), d.Add(leaks))
}

// sameLimitsAgain is a client whose calls do not count against the limits of the others.
func (d *deps) sameLimitsAgain() (client.Client, error) {
	config := rest.CopyConfig(d.GetConfig())
	config.RateLimiter = nil
	c, err := client.New(config, client.Options{HTTPClient: d.GetHTTPClient(), Scheme: d.GetScheme(), Mapper: d.GetRESTMapper()})
	if err != nil {
		return nil, fmt.Errorf("making another client of the API server: %w", err)
	}
	return c, nil
}
