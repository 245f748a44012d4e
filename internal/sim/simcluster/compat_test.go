package simcluster_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/sim/simcluster"
)

// Pods are nominated with either's defaults, unless that is switched off: then nothing is written to them. Ten pods of several
// kinds come, so that there is something to nominate.
func TestNothingIsWrittenToPodsWithoutNominations(t *testing.T) {
	for name, tc := range map[string]struct {
		env    map[string]string
		writes bool
	}{
		"Kerf's defaults":          {nil, true},
		"Karpenter's defaults":     {map[string]string{"KERF_COMPAT": "karpenter"}, true},
		"nominations switched off": {map[string]string{"KERF_NOMINATE": "false"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			simcluster.Run(t, simcluster.Options{World: many, Env: tc.env}, func(h *simcluster.Cluster) {
				h.Apply(strings.Replace(simcluster.Defaults, "consolidateAfter: 30s", "consolidateAfter: Never", 1))
				h.Deploy("large", 5, "3", "12Gi")
				h.Deploy("small", 5, "500m", "1Gi")
				h.Running(5*time.Minute, "", 10)
				if n := h.API.Requests()["patch pods/status"]; (n > 0) != tc.writes {
					h.T.Errorf("%d patches of the status of pods, want some: %v", n, tc.writes)
				}
			})
		})
	}
}
