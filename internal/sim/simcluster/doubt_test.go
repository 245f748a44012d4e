package simcluster_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kerf-sh/kerf/internal/sim/simcluster"
)

// User data taints nodes, and no pool says so: the nodes of the next plan look as if they took the pods, and never do. A node for each pod,
// again and again, would be paid for as long as that lasts.
func TestNodesThatNeverTakeTheirPodsAreNotLaunchedForEver(t *testing.T) {
	const flags = "flags: ['--register-with-taints=example.com/agent=:NoSchedule,karpenter.sh/unregistered=:NoExecute']"
	tainted := strings.Replace(simcluster.Defaults, "  role:", `  userData: |
    apiVersion: node.eks.aws/v1alpha1
    kind: NodeConfig
    spec: {kubelet: {`+flags+`}}
  role:`, 1)
	simcluster.Run(t, simcluster.Options{}, func(h *simcluster.Cluster) {
		h.Apply(tainted)
		deployApart(h, "web", 5)
		h.Pass(10 * time.Minute)
		atFirst := len(h.AWS.World.Instances())
		h.Pass(50 * time.Minute)
		after := len(h.AWS.World.Instances())
		h.T.Logf("%d instances in ten minutes, %d in an hour", atFirst, after)
		if atFirst > 14 || after > atFirst+5 {
			h.T.Errorf("%d instances were launched in ten minutes and %d in an hour, want 14 at most (twice all, and a few single ones), and 5 more", atFirst, after)
		}
		var events corev1.EventList
		if err := h.Client.List(h.T.Context(), &events); err != nil {
			h.T.Fatal(err)
		}
		if said := fmt.Sprint(events.Items); !strings.Contains(said, "times in a row the scheduler did not put") {
			h.T.Error("no event says so")
		}
		h.Apply(simcluster.Defaults)
		h.Running(3*time.Minute, "web", 5)
	})
}
