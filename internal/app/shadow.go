package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/kerf-sh/kerf/internal/aws"
	"github.com/kerf-sh/kerf/internal/aws/calls"
	"github.com/kerf-sh/kerf/internal/aws/dependency"
	awsreadonly "github.com/kerf-sh/kerf/internal/aws/readonly"
	"github.com/kerf-sh/kerf/internal/aws/session"
	"github.com/kerf-sh/kerf/internal/controller/disrupt"
	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/controller/provision"
	"github.com/kerf-sh/kerf/internal/controller/shadow"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	engine "github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/settings"
	"github.com/kerf-sh/kerf/internal/state/readonly"
	"github.com/kerf-sh/kerf/internal/version"
)

// shadowIn runs beside a controller that runs already, and changes nothing, until ctx ends: decisions are made and told. It
// takes no lease, writes no event and no status, and below its clients a guard lets nothing out that is not reading.
//
// Errors: those of Run.
func shadowIn(ctx context.Context, s settings.Settings, around Surroundings, config *rest.Config, log *slog.Logger, metrics *obs.Metrics) error {
	guard := &readonly.Guard{}
	guard.Tell(func(what string) {
		metrics.Shadow.Refused.WithLabelValues(what).Inc()
		log.Error("a call that would have changed something was not let out; please report it", "call", what)
	})
	config.Wrap(guard.Kubernetes)
	s.DisableLeaderElection = true
	if s.FeatureGates.CapacityBuffer || s.FeatureGates.NodeOverlay {
		log.Warn("a shadow run leaves CapacityBuffers and NodeOverlays out: what they ask for is written to their status, which it must not write")
		s.FeatureGates.CapacityBuffer, s.FeatureGates.NodeOverlay = false, false
	}
	readers, err := newReaders(config, s, log)
	if err != nil {
		return err
	}
	mgr, err := newManager(ctx, config, s, nil, readers)
	if err != nil {
		return err
	}
	given := surroundings{Settings: s, Manager: mgr, aws: around.AWS, log: log, metrics: metrics, config: config, services: dependency.New(time.Now)}
	d, err := newDeps(ctx, given, func(ctx context.Context, d *deps) (*aws.Provider, error) {
		to := d.aws
		to.Version, to.Middleware = version.Version, slices.Concat(awsreadonly.Middleware(guard), d.services.Middleware(), calls.Middleware(d.metrics.AWS))
		clients, err := session.New(ctx, to)
		if err != nil {
			return nil, err
		}
		return readingProvider(ctx, clients, s, config, d.GetAPIReader(), d.ca, log)
	})
	if err != nil {
		return err
	}
	recoverer := func(name string, fn func() error) error { return metrics.Recover(log, name, fn) }
	problems := &provision.Problems{
		State: d.cache, Types: d.provider, Subnets: d.provider.Subnets, Pack: PackOptions(s), Currency: d.currency, Now: time.Now, Late: func() {}, Recover: recoverer,
	}
	loop := &shadow.Loop{
		Book: shadow.NewBook(time.Now()), State: d.cache, Guard: guard, Synced: d.synced, Metrics: metrics, Recover: recoverer, Log: log, Now: time.Now,
		Problem: d.withFixed(problems, d.provider), Solve: pack.NewEngine().Solve, Disrupt: d.forecast(problems),
	}
	if err := errors.Join(
		d.probes(),
		d.Add(everywhere(func(ctx context.Context) error { d.provider.Refresh(ctx); return nil })), d.Add(everywhere(d.watchServices)), d.Add(loop),
		mgr.AddMetricsServerExtraHandler(shadow.Path, readers.Guard(shadow.Handler(loop.Summary))),
	); err != nil {
		return err
	}
	log.Info("running in the shadow: nothing is changed", "report", fmt.Sprintf("port %d, %s", s.MetricsPort, shadow.Path))
	err = mgr.Start(ctx)
	sum := loop.Summary()
	fmt.Fprint(os.Stdout, sum.String())
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("running in the shadow: %w", err)
	}
	return nil
}

var _ manager.Runnable = (*shadow.Loop)(nil)

// withFixed makes problems in which the nodes of pools that keep a fixed number have their prices, too: decisions on pods know
// nothing of such pools.
func (d *deps) withFixed(problems *provision.Problems, types provision.TypeSource) func(context.Context, *cluster.Snapshot) *pack.Problem {
	var prices cluster.Pricer
	return func(ctx context.Context, snapshot *cluster.Snapshot) *pack.Problem {
		problem := problems.Problem(ctx, snapshot)
		var fixed []*cluster.Pool
		for _, pool := range d.cache.Pools() {
			if !pool.IsStatic() {
				continue
			}
			class := d.cache.NodeClass(pool.Spec.Template.Spec.NodeClassRef.Name)
			if class == nil {
				continue
			}
			list, err := types.Types(ctx, class)
			if err != nil {
				d.log.Warn("what the nodes of a static pool cost is not known", "nodepool", pool.Name, "error", err)
				continue
			}
			fixed = append(fixed, &cluster.Pool{Name: pool.Name, Types: list})
		}
		if len(fixed) > 0 {
			problem.Nodes = prices.Apply(problem.Nodes, fixed)
		}
		return problem
	}
}

// forecast decides which nodes could go, as the controller would, and does nothing about it.
func (d *deps) forecast(problems *provision.Problems) func(context.Context, *cluster.Snapshot) *engine.Decision {
	lasting := *problems
	lasting.Lasting = true
	loop := &disrupt.Loop{
		Queue: &disrupt.Queue{}, State: d.cache, Problem: lasting.Replacing, Log: d.log, Metrics: d.metrics, Clock: d.clock(),
		Options: ConsolidationOptions(d.Settings),
	}
	return loop.Forecast
}
