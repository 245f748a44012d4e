package app

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/aws"
	"github.com/kerf-sh/kerf/internal/aws/calls"
	"github.com/kerf-sh/kerf/internal/aws/instancetype"
	"github.com/kerf-sh/kerf/internal/aws/session"
	"github.com/kerf-sh/kerf/internal/settings"
	"github.com/kerf-sh/kerf/internal/version"
)

// launchingProvider makes the provider of a controller, which asks AWS for nothing yet.
func launchingProvider(ctx context.Context, d *deps) (*aws.Provider, error) {
	to := d.aws
	to.Version, to.Middleware = version.Version, slices.Concat(d.services.Middleware(), calls.Middleware(d.metrics.AWS), session.Traced(d.trace))
	s, err := session.New(ctx, to)
	if err != nil {
		return nil, err
	}
	o, err := providerOptions(ctx, d.Settings, d.config, d.GetAPIReader(), d.ca, d.logger("providers"))
	if err != nil {
		return nil, err
	}
	o.ForeignInstances, o.LaunchFailed, o.InterruptionQueue, o.DisableDryRun = d.foreign, d.launchFailed, d.InterruptionQueue, d.DisableDryRun
	o.Overlays, o.PricesSeen, o.NodePools = d.overlays, d.pricesSeen, d.nodePools
	o.Joined, o.TerminateFailed = d.metrics.AWS.Batch, d.metrics.AWS.TerminationFailed
	o.UserData = func(class string, bytes int) { d.metrics.AWS.UserDataBytes.WithLabelValues(class).Set(float64(bytes)) }
	if d.PodDensity == settings.NetworkDensity {
		network, err := watchPodNetwork(ctx, d.GetCache(), d.GetAPIReader(), d.log)
		if err != nil {
			return nil, err
		}
		o.PodNetwork = network.settings
	}
	return aws.New(s, o)
}

// nodePools are those in the informers' cache, which is waited for.
func (d *deps) nodePools(ctx context.Context) ([]karpv1.NodePool, error) {
	var list karpv1.NodePoolList
	err := d.GetClient().List(ctx, &list, client.UnsafeDisableDeepCopy)
	return list.Items, err
}

// providerOptions are those of every provider, whether it launches or only reads.
//
// Errors: those of clusterUID.
func providerOptions(ctx context.Context, s settings.Settings, config *rest.Config, reader client.Reader, ca func() string, log *slog.Logger) (aws.Options, error) {
	uid, err := clusterUID(ctx, reader, log)
	if err != nil {
		return aws.Options{}, err
	}
	o := aws.Options{
		ClusterName: s.ClusterName, ClusterUID: uid, ClusterEndpoint: s.ClusterEndpoint, ClusterCABundle: ca, ClusterDNSIP: dnsIP(reader),
		IsolatedVPC: s.IsolatedVPC, MemoryOverhead: memoryOverhead(s), ReservedENIs: s.ReservedENIs, LaunchPriceBound: s.LaunchPriceBound, ReservedCapacity: s.FeatureGates.ReservedCapacity,
		AMIRefreshInterval: s.AMIRefreshInterval, SubnetRefreshInterval: s.SubnetRefreshInterval, PriceFile: s.PriceFile, Logger: log,
	}
	if !s.EKSControlPlane {
		o.KubernetesVersion = serverVersion(config)
	}
	return o, nil
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

// dnsIP gives the address of the cluster's DNS service, empty where it has none.
func dnsIP(reader client.Reader) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		svc := &corev1.Service{}
		if err := reader.Get(ctx, client.ObjectKey{Namespace: "kube-system", Name: "kube-dns"}, svc); client.IgnoreNotFound(err) != nil {
			return "", fmt.Errorf("reading the service kube-system/kube-dns: %w", err)
		}
		return svc.Spec.ClusterIP, nil
	}
}

// clusterUID tells this cluster from others of the same name; where it may not be read they are not told apart.
//
// Errors: the API server does not say. Without the UID another cluster's instances would be taken for leaked ones and ended.
func clusterUID(ctx context.Context, reader client.Reader, log *slog.Logger) (string, error) {
	ns := &corev1.Namespace{}
	err := reader.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, ns)
	switch {
	case apierrors.IsForbidden(err), apierrors.IsNotFound(err):
		log.Warn("the namespace kube-system can't be read; instances of another cluster of the same name are not told from this one's", "error", err)
		return "", nil
	case err != nil:
		return "", fmt.Errorf("reading the namespace kube-system, whose UID tells this cluster from others of its name: %w", err)
	}
	return string(ns.UID), nil
}

// foreign makes it known that another cluster launches instances under this one's name.
func (d *deps) foreign(byUID map[string]int) {
	d.metrics.Replace(d.metrics.Foreign, func(set func(float64, ...string)) {
		for uid, n := range byUID {
			set(float64(n), uid)
		}
	})
	for uid, n := range byUID {
		d.log.Error("another cluster uses the same CLUSTER_NAME in this account and region; its instances are left alone, "+
			"but both share interruption queue, launch templates and instance profiles: give one of the two another name",
			"cluster", d.ClusterName, "other_cluster_uid", uid, "instances", n)
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
