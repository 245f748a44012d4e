package simcluster_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/sim/simcluster"
)

// Pods that ask for nothing fit four at a time on the cheapest type there is. By the price of instances alone, 50 of them
// are put on 13; each node has a disk, though, and it costs more than such an instance.
func TestPodsWithoutRequestsAreOnFewNodes(t *testing.T) {
	for name, tt := range map[string]struct {
		upkeep string
		most   int
		long   bool
	}{
		"by default":              {"0.0022", 2, false},
		"with agents by the host": {"0.02", 2, true},
		"by price of instances":   {"0", 13, true},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.long {
				long(t)
			}
			t.Parallel()
			simcluster.Run(t, simcluster.Options{Env: map[string]string{"KERF_NODE_UPKEEP": tt.upkeep}}, func(h *simcluster.Cluster) {
				h.Apply(strings.NewReplacer("[amd64]", "[amd64, arm64]", "[c, m, r]", "[c, m, r, t]").Replace(simcluster.Defaults))
				h.Deploy("web", 50, "0", "0")
				h.Running(5*time.Minute, "", 50)
				at := func() (n int, price float64) {
					for _, m := range h.Instances() {
						n, price = n+1, price+float64(m.PriceMicroUSD)/1e6
					}
					return n, price
				}
				n, price := at()
				h.Pass(30 * time.Minute) // consolidation must not undo it
				later, lower := at()
				h.T.Logf("%d instances for $%.4f/h, %d for $%.4f/h after half an hour", n, price, later, lower)
				if n > tt.most || later > tt.most {
					h.T.Errorf("%d instances at first and %d after half an hour, want at most %d", n, later, tt.most)
				}
			})
		})
	}
}
