package simcluster_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/sim/simcluster"
)

// Small instances have lost no pod and may go at once; the large one has just lost all of its own, and may not for a quarter of
// a minute. To fill it would move every pod that is left and keep the dearest instance.
func TestAnInstanceThatHasJustLostItsPodsIsNotFilled(t *testing.T) {
	simcluster.Run(t, simcluster.Options{World: few}, func(h *simcluster.Cluster) {
		h.Apply(strings.Replace(onDemand, "consolidateAfter: 30s", "consolidateAfter: 15s", 1))
		h.Deploy("large", 1, "7", "1Gi")
		h.Running(2*time.Minute, "large", 1)
		for i := range 3 { // one instance each: the others are full
			app := fmt.Sprint("small-", i)
			h.Deploy(app, 1, "1200m", "1Gi")
			h.Running(2*time.Minute, app, 1)
		}
		h.Pass(20 * time.Minute)
		before := map[string]string{}
		for _, p := range h.Pods() {
			before[p.Name] = p.Spec.NodeName
		}
		nodes := len(h.Nodes())
		h.Scale("large", 0)
		h.Eventually(2*time.Minute, "the large instance is gone", func() (bool, string) {
			n := len(h.Nodes())
			return n < nodes, fmt.Sprint(n, " nodes")
		})
		h.Pass(time.Minute)
		left := h.Pods()
		if len(left) != 3 {
			h.T.Errorf("%d pods are left", len(left))
		}
		for _, p := range left {
			if before[p.Name] == "" || before[p.Name] != p.Spec.NodeName {
				h.T.Errorf("pod %s was moved to %s", p.Name, p.Spec.NodeName)
			}
		}
		for _, n := range h.Nodes() {
			if n.Status.Capacity.Cpu().Value() > 4 {
				h.T.Errorf("node %s of %s processors is kept", n.Name, n.Status.Capacity.Cpu())
			}
		}
	})
}
