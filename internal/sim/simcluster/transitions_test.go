package simcluster_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/sim/simcluster"
)

// Alerts on events match the type of a condition as their reason, and this text.
func TestTransitionsOfConditionsAreEvents(t *testing.T) {
	simcluster.Run(t, simcluster.Options{World: few}, func(h *simcluster.Cluster) {
		h.Apply(strings.Replace(onDemand, "KarpenterNodeRole-kerf", "Nobody", 1))
		h.Pass(time.Minute)
		h.Apply(onDemand)
		h.Deploy("web", 1, "1", "1Gi")
		h.Running(5*time.Minute, "web", 1)
		h.Pass(time.Minute)
		for _, want := range []struct{ kind, reason, message string }{
			{"EC2NodeClass", "InstanceProfileReady", "Status: Unknown -> True, Reason: InstanceProfileReady"},
			{"NodePool", "NodeRegistrationHealthy", "Status: Unknown -> True, Reason: NodeRegistrationHealthy"},
			{"NodeClaim", "Registered", "Status: Unknown -> True, Reason: Registered"},
			{"NodeClaim", "Initialized", "Status: Unknown -> True, Reason: Initialized"},
		} {
			all := events(h, want.kind, want.reason)
			text := "Status condition transitioned, Type: " + want.reason + ", " + want.message
			if n := len(slices.DeleteFunc(slices.Clone(all), func(e string) bool { return !strings.HasSuffix(e, ": "+text) })); n != 1 {
				h.T.Errorf("%s %s: told %d times, want once %q; %q", want.kind, want.reason, n, text, all)
			}
		}
		var claims karpv1.NodeClaimList
		if err := h.Client.List(h.T.Context(), &claims); err != nil {
			h.T.Fatal(err)
		}
		for i := range claims.Items {
			if err := h.Client.Delete(h.T.Context(), &claims.Items[i]); err != nil {
				h.T.Fatal(err)
			}
		}
		h.Pass(5 * time.Minute)
		for _, kind := range []string{"NodeClaim", "Node"} {
			if got := events(h, kind, "Finalized"); len(got) != 1 || !strings.HasSuffix(got[0], ": Finalized karpenter.sh/termination") {
				h.T.Errorf("%s Finalized: %q", kind, got)
			}
		}
	})
}
