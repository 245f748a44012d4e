package simcluster_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
	"github.com/kerf-sh/kerf/internal/sim/simcluster"
)

// A replacement that never registers, or registers and is never initialized, costs the node that it was to replace ten
// minutes in which it takes no pods.
func TestAFailedReplacementIsTakenBackAfterTenMinutes(t *testing.T) {
	const waits = 10 * time.Minute
	for name, fail := range map[string]func(*simcluster.Cluster){
		"it never registers": func(h *simcluster.Cluster) {
			h.AWS.World.AddFault(world.Fault{Kind: world.FaultWrongCluster})
			change(h, pool(), `{"spec":{"template":{"metadata":{"labels":{"drift":"1"}}}}}`)
		},
		"it is never initialized": func(h *simcluster.Cluster) {
			change(h, pool(), `{"spec":{"template":{"spec":{"startupTaints":[{"key":"example.com/agent","effect":"NoSchedule"}]}}}}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			simcluster.Run(t, simcluster.Options{World: few}, func(h *simcluster.Cluster) {
				h.Apply(onDemand)
				h.Deploy("web", 1, "1", "1Gi")
				h.Running(2*time.Minute, "web", 1)
				h.Pass(2 * time.Minute)
				old := h.Nodes()[0].Name
				tainted := func() bool {
					return slices.ContainsFunc(h.Nodes(), func(n corev1.Node) bool {
						return n.Name == old && slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == karpv1.DisruptedTaintKey })
					})
				}
				fail(h)
				h.Eventually(2*time.Minute, "the node is tainted", func() (bool, string) { return tainted(), "" })
				began := time.Now()
				h.Eventually(waits+time.Minute, "the node takes pods again", func() (bool, string) { return !tainted(), fmt.Sprint(h.Claims()) })
				if took := time.Since(began); took < waits-time.Minute {
					h.T.Errorf("it was taken back after %s", took)
				}
				h.Running(time.Minute, "web", 1)
				if told := events(h, "Node", "DisruptionUndone"); len(told) == 0 {
					h.T.Error("no event says that the disruption was taken back")
				} else {
					h.T.Log(told)
				}
				h.Pass(time.Hour)
				if n := len(h.Claims()); n > 2 { // a next attempt may be under way
					h.T.Errorf("%d NodeClaims for one pod an hour later", n)
				}
				h.Running(time.Minute, "web", 1)
			})
		})
	}
}
