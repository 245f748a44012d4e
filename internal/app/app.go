// Package app wires a controller process: settings in, loops out. It decides nothing.
package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/pprof"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	crconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	autoscalingv1beta1 "github.com/kerf-sh/kerf/api/autoscaling/v1beta1"
	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/api/karpenter/v1alpha1"
	"github.com/kerf-sh/kerf/internal/aws/dependency"
	"github.com/kerf-sh/kerf/internal/aws/session"
	"github.com/kerf-sh/kerf/internal/controller/access"
	"github.com/kerf-sh/kerf/internal/controller/apply"
	"github.com/kerf-sh/kerf/internal/controller/decisions"
	"github.com/kerf-sh/kerf/internal/controller/disrupt"
	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/controller/overview"
	"github.com/kerf-sh/kerf/internal/controller/terminate"
	"github.com/kerf-sh/kerf/internal/engine/record"
	"github.com/kerf-sh/kerf/internal/guard"
	"github.com/kerf-sh/kerf/internal/settings"
	"github.com/kerf-sh/kerf/internal/state/cache"
	"github.com/kerf-sh/kerf/internal/trace"
	"github.com/kerf-sh/kerf/internal/trace/otlp"
	"github.com/kerf-sh/kerf/internal/version"
)

// component is the name that events carry; users' tools look for it.
const component = "karpenter"

// Run runs the controller until ctx ends, in the surroundings that the process's environment leads to as far as where does
// not say others: it may have the Kubernetes API and the account.
//
// Errors: what could not be reached or read at the start, by name, and with what to set.
func Run(ctx context.Context, s settings.Settings, warnings []settings.Warning, where Surroundings) error {
	log, err := obs.NewLogger(obs.LogOptions{Level: s.LogLevel, Paths: s.LogOutputPaths, ErrorPaths: s.LogErrorOutputPaths, Commit: version.Commit})
	if err != nil {
		return err
	}
	slog.SetDefault(log)
	bridge := logr.FromSlogHandler(obs.Quieter(log).Handler())
	ctrl.SetLogger(bridge)
	klog.SetLogger(bridge)
	for _, w := range warnings {
		log.Warn(w.Text)
	}
	if s.MemoryLimit > 0 {
		debug.SetMemoryLimit(s.MemoryLimit / 10 * 9)
	}
	if where.Kubernetes == nil {
		if where.Kubernetes, err = kubeConfig(); err != nil {
			return err
		}
	}
	// Handlers of watches run in goroutines of client-go, which by default end the process after a panic.
	utilruntime.ReallyCrash = false //nolint:reassign // it is the switch that client-go offers
	utilruntime.PanicHandlers = append(utilruntime.PanicHandlers, func(_ context.Context, v any) {
		guard.Tell(&guard.Panic{Where: "client-go", Value: v, Stack: debug.Stack()})
	})
	guard.Go("gctuning", func() { gcTuning(ctx) })
	if err := goMetrics(ctrlmetrics.Registry); err != nil {
		return err
	}
	tracer, stop, err := otlp.Start(ctx, otlp.Options{Version: version.Version, Cluster: s.ClusterName, Region: os.Getenv("AWS_REGION"), Getenv: os.Getenv, Log: log})
	if err != nil {
		return err
	}
	defer stop()
	where.Metrics, where.Log, where.Trace = ctrlmetrics.Registry, log, tracer
	return RunIn(ctx, s, where)
}

// Surroundings are what a controller meets outside of itself, if it is not what the process's environment leads to. What
// is set for a whole process, such as the memory limit and the loggers of libraries, is left to the caller.
type Surroundings struct {
	Kubernetes *rest.Config
	AWS        session.Options // Version and Middleware are the controller's own
	Metrics    prometheus.Registerer
	Log        *slog.Logger
	// Trace records spans; nil records none.
	Trace *trace.Tracer
	// Without are mechanisms of disruption to do without (disrupt.Mechanisms). It is for measurements of what each earns.
	Without []string
	// Overview, if set, gets what people look at the cluster through, once it is made.
	Overview func(*overview.Overview)
	// Clock, if set, makes the clock of each loop that asks for one; the real one serves otherwise.
	Clock func() clock.WithTicker
}

// RunIn runs a controller in given surroundings until ctx ends. Several can run in one process, each with a registry of
// its own.
//
// Errors: those of Run.
func RunIn(ctx context.Context, s settings.Settings, around Surroundings) error {
	log, metrics, config := around.Log, obs.NewMetrics(around.Metrics), clientConfig(around.Kubernetes, s)
	config.Wrap(metrics.Kube.Transport)
	metrics.BuildInfo.WithLabelValues(version.Version, runtime.Version(), runtime.GOARCH, version.Commit).Set(1)
	defer metrics.Panicked(log)()
	log.Info("starting", "version", version.Version, "cluster", s.ClusterName)

	if err := awaitKinds(ctx, config, s, log); err != nil || ctx.Err() != nil {
		return err
	}
	for _, mechanism := range around.Without {
		if !slices.Contains(disrupt.Mechanisms, mechanism) {
			return fmt.Errorf("there is no mechanism of disruption %q to do without: there are %s", mechanism, strings.Join(disrupt.Mechanisms, ", "))
		}
	}
	if s.Shadow {
		return shadowIn(ctx, s, around, config, log, metrics)
	}
	ring := decisions.NewRing(s.Decisions, s.DecisionsMemory, log)
	readers, err := newReaders(config, s, log)
	if err != nil {
		return err
	}
	mgr, err := newManager(ctx, config, s, ring, readers)
	if err != nil {
		return err
	}
	d, err := newDeps(ctx, surroundings{Settings: s, Manager: mgr, aws: around.AWS, log: log, metrics: metrics, trace: around.Trace, config: config, ring: ring, services: dependency.New(time.Now), readers: readers, without: around.Without, overview: around.Overview, clocks: around.Clock}, launchingProvider)
	if err != nil {
		return err
	}
	defer d.lanes.Stop()
	if err := errors.Join(d.probes(), d.loops(ctx)); err != nil {
		return err
	}
	log.Info("running")
	if err := mgr.Start(ctx); err != nil && ctx.Err() == nil {
		return fmt.Errorf("running the controllers: %w", err)
	}
	return nil
}

func kubeConfig() (*rest.Config, error) {
	if path := os.Getenv(clientcmd.RecommendedConfigPathEnvVar); path != "" && !strings.Contains(path, string(os.PathListSeparator)) {
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("reading KUBECONFIG: %w", err)
		}
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return nil, fmt.Errorf("finding the Kubernetes API: %w (set KUBECONFIG, or run inside the cluster)", err)
	}
	return config, nil
}

func clientConfig(config *rest.Config, s settings.Settings) *rest.Config {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = float32(s.KubeClientQPS), s.KubeClientBurst
	config.UserAgent = "kerf/" + version.Version
	config.Wrap(terminate.OwnPace)
	// The content type stays empty: controller-runtime then speaks protobuf for built-in kinds and JSON for custom ones,
	// which have no other encoding. A content type set here would be used for both.
	return config
}

func scheme() (*kruntime.Scheme, error) {
	out := kruntime.NewScheme()
	for _, add := range []func(*kruntime.Scheme) error{clientgoscheme.AddToScheme, karpv1.AddToScheme, awsv1.AddToScheme, autoscalingv1beta1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(out); err != nil {
			return nil, fmt.Errorf("building the scheme: %w", err)
		}
	}
	return out, nil
}

func newManager(ctx context.Context, config *rest.Config, s settings.Settings, ring *decisions.Ring, readers *access.Gate) (ctrl.Manager, error) {
	sch, err := scheme()
	if err != nil {
		return nil, err
	}
	address := func(port int) string {
		if port == 0 {
			return "0"
		}
		return ":" + strconv.Itoa(port)
	}
	metrics := metricsserver.Options{BindAddress: address(s.MetricsPort)}
	metrics.ExtraHandlers = debugHandlers(s, ring, readers)
	o := ctrl.Options{
		Scheme:                        sch,
		Metrics:                       metrics,
		HealthProbeBindAddress:        address(s.HealthProbePort),
		LeaderElection:                !s.DisableLeaderElection,
		LeaderElectionReleaseOnCancel: true,
		Cache:                         crcache.Options{DefaultTransform: cache.Strip(), ByObject: cache.Selection()},
		NewCache:                      newEndable(ctx),
		Client:                        client.Options{Cache: &client.CacheOptions{Unstructured: false}},
		NewClient:                     newSorted,
		GracefulShutdownTimeout:       new(10 * time.Second),
		Controller: crconfig.Controller{
			SkipNameValidation: new(true), // several controllers may run in one process
			// The priority queue of v0.24 may hold its lock for ever once it is shut down while a worker
			// waits (kubernetes-sigs/controller-runtime#3538, fixed in v0.25): a leader that lost its
			// lease would then hang until the grace period ends.
			UsePriorityQueue: new(false),
			EnableWarmup:     new(!s.DisableControllerWarmup),
		},
	}
	var elections *lateRecorder
	if !s.DisableLeaderElection {
		lease, events, err := lock(config, s)
		if err != nil {
			return nil, fmt.Errorf("setting up: %w", err)
		}
		o.LeaderElectionResourceLockInterface, elections = lease, events
		o.LeaderElectionID = s.LeaderElectionName // the name in the metric of the election
	}
	mgr, err := ctrl.NewManager(config, o)
	if err != nil {
		return nil, fmt.Errorf("setting up against %s: %w", config.Host, err)
	}
	if elections != nil {
		//nolint:staticcheck // the election knows the older events only
		elections.set(mgr.GetEventRecorderFor(o.LeaderElectionResourceLockInterface.Identity()))
	}
	return mgr, nil
}

// newReaders lets those read decisions whom the API server lets.
func newReaders(config *rest.Config, s settings.Settings, log *slog.Logger) (*access.Gate, error) {
	return access.New(config, access.Options{Namespace: ownNamespace(s.LeaderElectionNamespace), Now: time.Now, Log: log})
}

// debugHandlers are what the metrics port serves beside metrics.
func debugHandlers(s settings.Settings, ring *decisions.Ring, readers *access.Gate) map[string]http.Handler {
	out := map[string]http.Handler{}
	if ring != nil {
		guarded := readers.Guard(decisions.Handler(ring))
		out[decisions.Path], out[decisions.Path+"/"] = guarded, guarded
	}
	if s.EnableProfiling {
		for page, serve := range map[string]http.HandlerFunc{"": pprof.Index, "profile": pprof.Profile, "trace": pprof.Trace, "symbol": pprof.Symbol, "cmdline": pprof.Cmdline} {
			out["/debug/pprof/"+page] = readers.Guard(serve)
		}
	}
	return out
}

// probes tell whether the process is alive, which is one that answers and whose state nobody keeps locked, and ready, which is one
// whose first lists are in.
func (d *deps) probes() error {
	alive := &lockCheck{await: d.cache.AwaitLock, now: time.Now, log: d.log}
	return errors.Join(
		d.AddHealthzCheck("ping", healthz.Ping),
		d.AddHealthzCheck("state", alive.check),
		d.AddReadyzCheck("synced", func(*http.Request) error {
			if !d.synced() {
				return errors.New("the first lists from the Kubernetes API are not in yet")
			}
			return nil
		}),
		d.AddReadyzCheck(awsCheck, d.awsAnswers),
	)
}

// nodeNow finds a node by its name or that of its NodeClaim, for whoever asks why it is there.
func (d *deps) nodeNow(name string) (record.Now, bool) {
	for _, n := range d.cache.Snapshot().Nodes {
		if n.Name != name && n.Claim != name {
			continue
		}
		now := record.Now{Node: n, Currency: d.currency()}
		if claim := d.cache.Claim(n.Claim); claim != nil {
			now.Why, now.Launched = claim.Annotations[apply.WhyAnnotation], claim.Annotations[apply.LaunchedAnnotation]
			if !n.Launched && launchFails(claim) {
				c := claim.StatusConditions().Get(karpv1.ConditionTypeLaunched)
				now.Refused = (&overview.Trouble{Name: claim.Name, Reason: c.Reason, Message: c.Message}).Why()
			}
			now.Drifted = driftOf(claim)
		}
		return now, true
	}
	return record.Now{}, false
}

// driftOf is what the claim's condition Drifted says; nil where it is not true.
func driftOf(claim *karpv1.NodeClaim) *record.Drift {
	c := claim.StatusConditions().Get(karpv1.ConditionTypeDrifted)
	if !c.IsTrue() {
		return nil
	}
	return &record.Drift{Reason: c.Reason, Message: c.Message}
}
