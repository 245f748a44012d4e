package app

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kerf-sh/kerf/internal/aws"
	"github.com/kerf-sh/kerf/internal/aws/podnetwork"
	awsreadonly "github.com/kerf-sh/kerf/internal/aws/readonly"
	"github.com/kerf-sh/kerf/internal/aws/session"
	"github.com/kerf-sh/kerf/internal/controller/apply"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/settings"
	"github.com/kerf-sh/kerf/internal/setup/changeplan"
	"github.com/kerf-sh/kerf/internal/state/cache"
	"github.com/kerf-sh/kerf/internal/state/intake"
	"github.com/kerf-sh/kerf/internal/state/readonly"
	"github.com/kerf-sh/kerf/internal/version"
)

// Foresee tells what a change would do to the nodes of a cluster. Nothing is changed: a guard below both APIs sees to that.
// to says which account and region it is.
//
// Errors: those of changeplan.Look; what could not be reached, by name.
func Foresee(ctx context.Context, config *rest.Config, s settings.Settings, to session.Options, o changeplan.Options) (*changeplan.Report, error) {
	log := slog.New(slog.DiscardHandler)
	guard := &readonly.Guard{DryRuns: true}
	config = clientConfig(config, s)
	config.Wrap(guard.Kubernetes)
	sch, err := scheme()
	if err != nil {
		return nil, err
	}
	api, err := client.New(config, client.Options{Scheme: sch})
	if err != nil {
		return nil, fmt.Errorf("connecting to the Kubernetes API at %s: %w", config.Host, err)
	}
	to.Version, to.Middleware = version.Version, awsreadonly.Middleware(guard)
	account, err := session.New(ctx, to)
	if err != nil {
		return nil, err
	}
	ca, err := caBundle(s, config, log)
	if err != nil {
		return nil, err
	}
	provider, err := readingProvider(ctx, account, s, config, api, ca, log)
	if err != nil {
		return nil, err
	}
	spreads, err := intake.ParseDefaultSpreads(s.SchedulerConfig)
	if err != nil {
		return nil, fmt.Errorf("SCHEDULER_CONFIG: %w", err)
	}
	o.Cluster, o.Kubernetes, o.Cloud, o.ReservedCapacity, o.Now = s.ClusterName, api, provider, s.FeatureGates.ReservedCapacity, time.Now()
	o.Cache = cache.Options{DefaultSpreads: spreads}
	o.Pack = PackOptions(s)
	o.Pack.Currency = catalog.Currency(provider.Prices().Currency)
	o.Gaps = leftOut(s.FeatureGates)
	return changeplan.Look(ctx, o)
}

// leftOut is what the controller heeds and a plan does not.
func leftOut(g settings.Gates) []string {
	var out []string
	if g.NodeOverlay {
		out = append(out, "NodeOverlays are left out: prices are those of AWS, and pods that ask for a resource that only an overlay gives find no place")
	}
	if g.CapacityBuffer {
		out = append(out, "CapacityBuffers are left out: the room that they keep free is taken for free")
	}
	return out
}

// PackOptions are those of decisions about pods.
func PackOptions(s settings.Settings) pack.Options {
	return pack.Options{
		WellKnown: apply.WellKnownLabels(), IgnorePreferences: s.PreferencePolicy == settings.Ignore, PreferenceShare: s.PreferenceShare,
		MinValuesBestEffort: s.MinValuesPolicy == settings.BestEffort, PriceGuard: s.PriceGuard, Upkeep: catalog.MicroUSD(s.NodeUpkeep),
	}
}

// readingProvider is a provider that changes nothing, ready to be asked.
func readingProvider(ctx context.Context, to *session.Session, s settings.Settings, config *rest.Config, reader client.Reader, ca func() string, log *slog.Logger) (*aws.Provider, error) {
	o, err := providerOptions(ctx, s, config, reader, ca, log)
	if err != nil {
		return nil, err
	}
	o.ReadOnly = true
	if s.PodDensity == settings.NetworkDensity {
		d := &appsv1.DaemonSet{}
		if err := reader.Get(ctx, client.ObjectKey{Namespace: podnetwork.Namespace, Name: podnetwork.Name}, d); err == nil {
			read := podnetwork.Read(d)
			o.PodNetwork = func() podnetwork.Settings { return read }
		}
	}
	return warmProvider(ctx, to, o)
}
