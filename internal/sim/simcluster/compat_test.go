package simcluster_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/sim/simcluster"
)

// With the defaults of Karpenter nothing is written to pods. Ten pods of several kinds come, so that there is something to
// nominate.
func TestTheDefaultsOfKarpenterWriteNothingToPods(t *testing.T) {
	for compat, writes := range map[string]bool{"kerf": true, "karpenter": false} {
		t.Run(compat, func(t *testing.T) {
			simcluster.Run(t, simcluster.Options{World: many, Env: map[string]string{"KERF_COMPAT": compat}}, func(h *simcluster.Cluster) {
				h.Apply(strings.Replace(simcluster.Defaults, "consolidateAfter: 30s", "consolidateAfter: Never", 1))
				h.Deploy("large", 5, "3", "12Gi")
				h.Deploy("small", 5, "500m", "1Gi")
				h.Running(5*time.Minute, "", 10)
				if n := h.API.Requests()["patch pods/status"]; (n > 0) != writes {
					h.T.Errorf("%d patches of the status of pods, want some: %v", n, writes)
				}
			})
		})
	}
}
