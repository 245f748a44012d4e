package app

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/aws"
	"github.com/kerf-sh/kerf/internal/aws/instancetype"
	"github.com/kerf-sh/kerf/internal/aws/session"
	"github.com/kerf-sh/kerf/internal/controller/buffer"
	"github.com/kerf-sh/kerf/internal/controller/daemon"
	"github.com/kerf-sh/kerf/internal/controller/drift"
	"github.com/kerf-sh/kerf/internal/controller/garbagecollection"
	"github.com/kerf-sh/kerf/internal/controller/interruption"
	"github.com/kerf-sh/kerf/internal/controller/lifecycle"
	"github.com/kerf-sh/kerf/internal/controller/nodeclass"
	"github.com/kerf-sh/kerf/internal/controller/nodepool"
	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/controller/provision"
	"github.com/kerf-sh/kerf/internal/controller/reserved"
	"github.com/kerf-sh/kerf/internal/controller/tagging"
	"github.com/kerf-sh/kerf/internal/controller/terminate"
	"github.com/kerf-sh/kerf/internal/controller/transitions"
	"github.com/kerf-sh/kerf/internal/controller/zoneshift"
	"github.com/kerf-sh/kerf/internal/settings"
	"github.com/kerf-sh/kerf/internal/state/cache"
	"github.com/kerf-sh/kerf/internal/state/cloud"
	"github.com/kerf-sh/kerf/internal/version"
)

// workersPerCore is how many objects of a kind are worked on at a time for each core that the container asked for. Most
// of that time is waiting for an API.
const workersPerCore = 64

// wire puts everything together, in the order in which it is needed.
func (p *process) wire(ctx context.Context) error {
	if err := p.state(ctx); err != nil {
		return err
	}
	if err := p.health(); err != nil {
		return err
	}
	ca, err := caBundle(p.Settings, p.config)
	if err != nil {
		return err
	}
	provider, err := p.provider(ctx, ca)
	if err != nil {
		return err
	}
	gate := newGate(provider, p.Manager.GetAPIReader(), p.log, p.EnableZonalShift)
	return errors.Join(
		p.startAWS(provider),
		p.Add(everywhere(p.watchServices)),
		p.Add(gate),
		p.Add(manager.RunnableFunc(func(ctx context.Context) error { provider.CollectTemplates(ctx); return nil })),
		p.Add(&profileCollector{provider: provider, client: p.GetClient(), log: p.log}),
		p.Add(&selfCheck{cache: p.cache, reader: p.GetAPIReader(), metrics: p.metrics, log: p.log}),
		p.guestMemory(provider.Memory()),
		p.provisioner(gate, provider),
		p.lifecycle(gate, ca),
		p.loops(ctx, gate),
		p.nodeLife(gate),
		p.interruption(ctx, gate, provider),
	)
}

// startAWS reads what launches need once the process runs, and keeps it fresh.
func (p *process) startAWS(provider *aws.Provider) error {
	start := &awsStart{check: provider.Check, warm: provider.Warm, log: p.log}
	return errors.Join(
		p.AddReadyzCheck("aws-start", start.ready),
		p.Add(everywhere(func(ctx context.Context) error {
			if err := start.run(ctx); err != nil {
				return err
			}
			provider.Refresh(ctx)
			return nil
		})),
	)
}

// provider makes the provider, which asks AWS for nothing yet.
func (p *process) provider(ctx context.Context, ca string) (*aws.Provider, error) {
	to := p.aws
	to.Version, to.Middleware = version.Version, p.services.Middleware()
	s, err := session.New(ctx, to)
	if err != nil {
		return nil, err
	}
	o := providerOptions(ctx, p.Settings, p.config, p.GetAPIReader(), ca, p.logger("providers"))
	o.ForeignInstances, o.LaunchFailed, o.InterruptionQueue, o.DisableDryRun = p.foreign, p.launchFailed, p.InterruptionQueue, p.DisableDryRun
	o.Overlays, o.PricesSeen = p.overlayStore(), p.pricesSeen
	if p.PodDensity == settings.NetworkDensity {
		network, err := watchPodNetwork(ctx, p.GetCache(), p.GetAPIReader(), p.log)
		if err != nil {
			return nil, err
		}
		o.PodNetwork = network.settings
	}
	return aws.New(s, o)
}

// providerOptions are those of every provider, whether it launches or only reads.
func providerOptions(ctx context.Context, s settings.Settings, config *rest.Config, reader client.Reader, ca string, log *slog.Logger) aws.Options {
	o := aws.Options{
		ClusterName: s.ClusterName, ClusterUID: clusterUID(ctx, reader, log), ClusterEndpoint: s.ClusterEndpoint, ClusterCABundle: ca, ClusterDNSIP: dnsIP(ctx, reader, log),
		IsolatedVPC: s.IsolatedVPC, MemoryOverhead: memoryOverhead(s), ReservedENIs: s.ReservedENIs, LaunchPriceBound: s.LaunchPriceBound, ReservedCapacity: s.FeatureGates.ReservedCapacity,
		AMIRefreshInterval: s.AMIRefreshInterval, SubnetRefreshInterval: s.SubnetRefreshInterval, PriceFile: s.PriceFile, Logger: log,
	}
	if !s.EKSControlPlane {
		o.KubernetesVersion = serverVersion(config)
	}
	return o
}

// memoryOverhead is the share of memory that is taken off. Any value but the default holds for all types, measured or not.
func memoryOverhead(s settings.Settings) float64 {
	if !s.MeasuredMemory && s.VMMemoryOverheadPercent == instancetype.DefaultMemoryOverhead {
		return math.Nextafter(s.VMMemoryOverheadPercent, 1)
	}
	return s.VMMemoryOverheadPercent
}

// warmProvider makes a provider and reads what it needs to be asked.
func warmProvider(ctx context.Context, to *session.Session, o aws.Options) (*aws.Provider, error) {
	provider, err := aws.New(to, o)
	if err != nil {
		return nil, err
	}
	if err := provider.Check(ctx); err != nil {
		return nil, err
	}
	if err := provider.Warm(ctx); err != nil {
		return nil, fmt.Errorf("reading the region's instance types: %w", err)
	}
	return provider, nil
}

// caBundle is what instances trust the API server by: the setting, or what this process trusts it by.
func caBundle(s settings.Settings, config *rest.Config) (string, error) {
	if s.ClusterCABundle != "" {
		return s.ClusterCABundle, nil
	}
	pem := config.CAData
	if len(pem) == 0 && config.CAFile != "" {
		var err error
		if pem, err = os.ReadFile(config.CAFile); err != nil {
			return "", fmt.Errorf("reading the cluster's certificate authority (or set CLUSTER_CA_BUNDLE): %w", err)
		}
	}
	return base64.StdEncoding.EncodeToString(pem), nil
}

// dnsIP is the address of the cluster's DNS service; without one the images choose.
func dnsIP(ctx context.Context, reader client.Reader, log *slog.Logger) string {
	svc := &corev1.Service{}
	err := reader.Get(ctx, client.ObjectKey{Namespace: "kube-system", Name: "kube-dns"}, svc)
	if err != nil {
		if !apierrors.IsNotFound(err) {
			log.Warn("could not read the service kube-system/kube-dns; instances use their image's default DNS address", "error", err)
		}
		return ""
	}
	return svc.Spec.ClusterIP
}

// clusterUID tells this cluster from others of the same name; without it they are not told apart.
func clusterUID(ctx context.Context, reader client.Reader, log *slog.Logger) string {
	ns := &corev1.Namespace{}
	if err := reader.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, ns); err != nil {
		log.Warn("could not read the namespace kube-system; instances of another cluster of the same name are not told from this one's", "error", err)
		return ""
	}
	return string(ns.UID)
}

// foreign makes it known that another cluster launches instances under this one's name.
func (p *process) foreign(byUID map[string]int) {
	p.metrics.Replace(p.metrics.Foreign, func(set func(float64, ...string)) {
		for uid, n := range byUID {
			set(float64(n), uid)
		}
	})
	for uid, n := range byUID {
		p.log.Error("another cluster uses the same CLUSTER_NAME in this account and region; its instances are left alone, "+
			"but both share interruption queue, launch templates and instance profiles: give one of the two another name",
			"cluster", p.ClusterName, "other_cluster_uid", uid, "instances", n)
	}
}

func serverVersion(config *rest.Config) func(context.Context) (string, error) {
	return func(context.Context) (string, error) {
		d, err := discovery.NewDiscoveryClientForConfig(config)
		if err != nil {
			return "", fmt.Errorf("asking the API server for its version: %w", err)
		}
		v, err := d.ServerVersion()
		if err != nil {
			return "", fmt.Errorf("asking the API server for its version: %w", err)
		}
		return v.GitVersion, nil
	}
}

func (p *process) provisioner(c cloud.Provider, provider *aws.Provider) error {
	applier := p.launcher()
	owners := &provision.Owners{Reader: p.GetAPIReader(), Settled: p.cache.Settled, Now: time.Now}
	loop := provision.New(provision.Options{
		State: p.cache, Types: c, Overlays: p.overlayStore(), Subnets: provider.Subnets, Applier: applier, Synced: p.synced, BatchIdle: p.BatchIdleDuration, BatchMax: p.BatchMaxDuration,
		Missing: owners.Missing, WholeBatches: !p.EarlyBatches,
		Pack:    PackOptions(p.Settings),
		Retry:   provider.Retry,
		Settle:  p.settle(),
		Record:  p.recorded,
		Meter:   meter{p.metrics},
		Recover: func(name string, fn func() error) error { return p.metrics.Recover(p.logger("provisioner"), name, fn) },
		Log:     p.logger("provisioner"),
	})
	return errors.Join(p.Add(loop), p.Add(p.closures(provider, loop.Trigger)), p.nodeOverlays(c, loop.Trigger))
}

// settle is told where virtual pods have their room; nil without the feature gate.
func (p *process) settle() func([]cache.Room) {
	if !p.FeatureGates.CapacityBuffer {
		return nil
	}
	return p.cache.SettleRooms
}

// sameLimitsAgain is a client whose calls do not count against the limits of the others.
func (p *process) sameLimitsAgain() (client.Client, error) {
	config := rest.CopyConfig(p.GetConfig())
	config.RateLimiter = nil
	c, err := client.New(config, client.Options{HTTPClient: p.GetHTTPClient(), Scheme: p.GetScheme(), Mapper: p.GetRESTMapper()})
	if err != nil {
		return nil, fmt.Errorf("making another client of the API server: %w", err)
	}
	return c, nil
}

func (p *process) lifecycle(c *gate, ca string) error {
	workers := max(16, int(p.CPURequests)*workersPerCore/1000)
	health := nodepool.NewHealth()
	pods, err := p.sameLimitsAgain()
	if err != nil {
		return err
	}
	var nominees lifecycle.Nominees
	if p.Nominate {
		nominees = p.cache
	}
	return errors.Join(
		(&lifecycle.Controller{
			Client: p.GetClient(), Cloud: c, Recorder: p.recorder(), Metrics: p.metrics, Log: p.logger("nodeclaim.lifecycle"), Clock: p.clock(), Health: health, Waiting: p.cache, Nominees: nominees, Pods: pods, Mortality: c,
			LaunchTimeout: p.LaunchTimeout, RegistrationTimeout: p.RegistrationTimeout,
		}).Register(p.Manager, workers),
		tagging.New(p.GetClient(), c, p.ClusterName, p.metrics, p.logger("nodeclaim.tagging"), p.clock()).Register(p.Manager),
		(&terminate.Claims{Client: p.GetClient(), Cloud: c, Recorder: p.recorder(), Metrics: p.metrics, Log: p.logger("nodeclaim.lifecycle"), Clock: p.clock()}).Register(p.Manager, workers),
		(&terminate.Nodes{Client: p.GetClient(), Cloud: c, Recorder: p.recorder(), Metrics: p.metrics, Log: p.logger("node.termination"), Clock: p.clock(), Replacements: p.cache}).Register(p.Manager, workers),
		(&daemon.Controller{Client: p.GetClient(), State: p.cache, Recorder: obs.NewRecorder(p.recorder(), daemon.Repeat, time.Now), Metrics: p.metrics, Log: p.logger("pod.daemon")}).Register(p.Manager),
		(&nodepool.Controller{Client: p.GetClient(), State: p.cache, Synced: p.synced, Metrics: p.metrics, Log: p.logger("nodepool"), Clock: p.clock(), Health: health, Types: c}).Register(p.Manager),
		(&drift.Controller{Client: p.GetClient(), Instances: c, Types: c, Metrics: p.metrics, Log: p.logger("nodeclaim.disruption"), Clock: p.clock()}).Register(p.Manager),
		(&nodeclass.Controller{
			Client: p.GetClient(), Cloud: c, Recorder: p.recorder(), Metrics: p.metrics, Log: p.logger("nodeclass"), Clock: p.clock(), ReservedCapacity: p.FeatureGates.ReservedCapacity,
			Hash: func(class *awsv1.EC2NodeClass) string { return class.Hash(ca) }, HashVersion: awsv1.EC2NodeClassHashVersion,
		}).Register(p.Manager),
	)
}

func (p *process) loops(ctx context.Context, c *gate) error {
	var buffers, shifts error
	if p.EnableZonalShift {
		shifts = p.Add(&zoneshift.Controller{Client: p.GetClient(), Shifts: c, Recorder: p.recorder(), Metrics: p.metrics, Log: p.logger("zonalshift"), Clock: p.clock(), Looked: c.looked})
	}
	if p.FeatureGates.CapacityBuffer {
		buffers = p.Add(buffer.New(buffer.Options{
			Client: p.GetClient(), State: p.cache, Log: p.logger("capacitybuffer"), Now: time.Now,
			Recover: func(name string, fn func() error) error { return p.metrics.Recover(p.log, name, fn) },
		}))
	}
	changes := &transitions.Publisher{Recorder: p.recorder(), ReservedCapacity: p.FeatureGates.ReservedCapacity, Elected: p.Elected(), Clock: p.clock()}
	leaks := &garbagecollection.Collector{Client: p.GetClient(), APIReader: p.GetAPIReader(), Cloud: c, Recorder: p.recorder(), Metrics: p.metrics, Log: p.logger("nodeclaim.garbagecollection"), Clock: p.clock()}
	return errors.Join(
		buffers, shifts,
		// Instances that run out of reservations are followed whether or not more may be launched.
		p.Add(&reserved.Loop{Client: p.GetClient(), Cloud: c, Reservations: c, Recorder: p.recorder(), Metrics: p.metrics, Log: p.logger("capacityreservation.expiration"), Clock: p.clock()}),
		p.disruption(c),
		changes.Watch(ctx, p.GetCache()),
		leaks.Watch(ctx, p.GetCache()), p.Add(leaks),
	)
}

// interruption reads the queue, if there is one, and the status of instances.
func (p *process) interruption(ctx context.Context, c cloud.Provider, provider *aws.Provider) error {
	instances := &interruption.Instances{}
	if err := instances.Watch(ctx, p.GetCache(), time.Now); err != nil {
		return fmt.Errorf("watching the instances of this cluster: %w", err)
	}
	loop := &interruption.Controller{
		Options: interruption.Options{
			Receivers: p.QueueReceivers, ReplaceOnRebalance: p.Rebalance == settings.Replace, MaintenanceLead: p.MaintenanceLead,
			Silence: p.QueueSilence, ReservedCapacity: p.FeatureGates.ReservedCapacity,
		},
		Client: p.GetClient(), APIReader: p.GetAPIReader(), Cloud: c, Statuses: provider.Statuses(), Instances: instances, Recorder: p.recorder(), Metrics: p.metrics, Log: p.logger("interruption"), Clock: p.clock(),
	}
	if q := provider.Queue(); q != nil {
		loop.Queue = q
	} else {
		p.logger("interruption").Warn("INTERRUPTION_QUEUE is not set: spot interruptions are seen only when the instances are gone")
	}
	return p.Add(loop)
}

// everywhere runs f on every replica, leader or not.
type everywhere func(context.Context) error

func (f everywhere) Start(ctx context.Context) error { return f(ctx) }

func (f everywhere) NeedLeaderElection() bool { return false }
