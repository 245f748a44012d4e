package simcluster_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
	"github.com/kerf-sh/kerf/internal/sim/simcluster"
)

// Whether nodes register is not known of a pool that was changed, until the next one does. A pool for which EC2 has no
// capacity is ready all the same; one that asks for what EC2 does not sell is not.
func TestPoolsSayHowTheyAre(t *testing.T) {
	simcluster.Run(t, simcluster.Options{World: many}, func(h *simcluster.Cluster) {
		condition := func(kind string, want metav1.ConditionStatus, says string) {
			h.T.Helper()
			pool := &karpv1.NodePool{}
			if err := h.Client.Get(h.T.Context(), client.ObjectKey{Name: "default"}, pool); err != nil {
				h.T.Fatal(err)
			}
			if c := pool.StatusConditions().Get(kind); c == nil || c.Status != want || !strings.Contains(c.Message, says) {
				h.T.Errorf("in generation %d %s is %v, want %s %q", pool.Generation, kind, c, want, says)
			}
		}
		h.Apply(simcluster.Defaults)
		h.Pass(time.Minute)
		condition(karpv1.ConditionTypeNodeRegistrationHealthy, metav1.ConditionUnknown, "")
		h.Deploy("web", 1, "1", "1Gi")
		h.Running(5*time.Minute, "web", 1)
		h.Pass(time.Second)
		condition(karpv1.ConditionTypeNodeRegistrationHealthy, metav1.ConditionTrue, "")

		h.Apply(strings.Replace(simcluster.Defaults, "[c, m, r]", "[m, r]", 1))
		h.Pass(5 * time.Second)
		condition(karpv1.ConditionTypeNodeRegistrationHealthy, metav1.ConditionUnknown, "")
		h.Deploy("more", 1, "6", "1Gi")
		h.Running(5*time.Minute, "more", 1)
		h.Pass(time.Second)
		condition(karpv1.ConditionTypeNodeRegistrationHealthy, metav1.ConditionTrue, "")

		h.AWS.World.AddFault(world.Fault{Kind: world.FaultNoCapacity})
		h.Deploy("short", 1, "30", "1Gi")
		h.Pass(5 * time.Minute)
		condition(karpv1.ConditionTypeReady, metav1.ConditionTrue, "")
		h.Apply(strings.Replace(simcluster.Defaults, "[c, m, r]", "[mm]", 1))
		h.Pass(5 * time.Second)
		condition(karpv1.ConditionTypeReady, metav1.ConditionFalse, "ValidationSucceeded")
		condition(karpv1.ConditionTypeValidationSucceeded, metav1.ConditionFalse, "karpenter.k8s.aws/instance-category In mm: none of the ")

		families, err := h.Controller().Metrics.Gather()
		if err != nil {
			h.T.Fatal(err)
		}
		// Kubernetes' own group has no name, most requests are for no subresource, and drift has no type of consolidation.
		nameless := []string{"client_go_request_duration_seconds group", "client_go_request_duration_seconds subresource",
			"karpenter_voluntary_disruption_decision_evaluation_duration_seconds consolidation_type"}
		for _, f := range families {
			for _, m := range f.Metric {
				for _, l := range m.Label {
					if m.Histogram != nil && l.GetValue() == "" && !slices.Contains(nameless, f.GetName()+" "+l.GetName()) {
						h.T.Errorf("the histogram %s has no value for %s", f.GetName(), l.GetName())
					}
				}
			}
		}
	})
}
