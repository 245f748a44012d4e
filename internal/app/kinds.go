package app

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/healthz"

	"github.com/kerf-sh/kerf/internal/guard"
	"github.com/kerf-sh/kerf/internal/settings"
)

// kindsAgain is how often it is looked whether custom resources are there that were missing.
const kindsAgain = 5 * time.Second

// custom is a custom resource that the controller can't work without.
type custom struct{ group, version, plural string }

func (c custom) String() string { return c.plural + "." + c.group }

// customs are those that the settings need.
func customs(s settings.Settings) []custom {
	out := []custom{{"karpenter.sh", "v1", "nodepools"}, {"karpenter.sh", "v1", "nodeclaims"}, {"karpenter.k8s.aws", "v1", "ec2nodeclasses"}}
	if s.FeatureGates.NodeOverlay {
		out = append(out, custom{"karpenter.sh", "v1alpha1", "nodeoverlays"})
	}
	if s.FeatureGates.CapacityBuffer {
		out = append(out, custom{"autoscaling.x-k8s.io", "v1beta1", "capacitybuffers"})
	}
	return out
}

// missing says which of the custom resources the API server does not serve, and what to do; empty when it serves all, and
// when it can't be asked: whoever comes next tells of that.
func missing(api discovery.DiscoveryInterface, want []custom) string {
	var names []string
	for _, c := range want {
		list, err := api.ServerResourcesForGroupVersion(c.group + "/" + c.version)
		if err != nil && !apierrors.IsNotFound(err) {
			return ""
		}
		found := false
		for i := 0; err == nil && i < len(list.APIResources); i++ {
			found = found || list.APIResources[i].Name == c.plural
		}
		if !found {
			names = append(names, c.String()+" "+c.version)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("the API server does not serve %s: install the CRDs (kerf manifests --crds-only | kubectl apply --server-side -f -, or the chart kerf-crd)", strings.Join(names, ", "))
}

// awaitKinds waits until the custom resources are there that the controller works on. Meanwhile the probes answer: alive, and
// not ready for want of them.
func awaitKinds(ctx context.Context, config *rest.Config, s settings.Settings, log *slog.Logger) error {
	api, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return fmt.Errorf("connecting to the Kubernetes API at %s: %w", config.Host, err)
	}
	first := missing(api, customs(s))
	if first == "" {
		return nil
	}
	var lack atomic.Value // of string
	lack.Store(first)
	if s.HealthProbePort != 0 {
		server, err := net.Listen("tcp", ":"+strconv.Itoa(s.HealthProbePort))
		if err != nil {
			return fmt.Errorf("listening for probes: %w", err)
		}
		probes := &http.Server{Handler: kindProbes(func() string { return lack.Load().(string) }), ReadHeaderTimeout: 10 * time.Second}
		done := make(chan struct{})
		guard.Go("probes", func() {
			defer close(done)
			_ = probes.Serve(server) // it ends when it is closed
		})
		defer func() {
			_ = probes.Close()
			<-done
		}()
	}
	log.Error("waiting for custom resources", "missing", first, "looked_every", kindsAgain)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(kindsAgain):
		}
		now := missing(api, customs(s))
		if now == "" {
			log.Info("the custom resources that were missing are there")
			return nil
		}
		if lack.Swap(now) != now {
			log.Error("waiting for custom resources", "missing", now, "looked_every", kindsAgain)
		}
	}
}

// kindProbes answers probes while custom resources are missing.
func kindProbes(lack func() string) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/healthz", http.StripPrefix("/healthz", &healthz.Handler{}))
	mux.Handle("/readyz", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, lack(), http.StatusInternalServerError)
	}))
	return mux
}
