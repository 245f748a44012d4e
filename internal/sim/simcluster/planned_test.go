package simcluster_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
	"github.com/kerf-sh/kerf/internal/sim/simcluster"
)

// The scheduler spreads pods over all nodes that have room as these come up. Unless it is told which node was launched for
// which pods, the last pods find no room, and the bill ends a quarter above what was planned.
func TestABurstCostsWhatWasPlanned(t *testing.T) {
	sizes := [][2]string{{"100m", "256Mi"}, {"250m", "512Mi"}, {"250m", "2Gi"}, {"500m", "1Gi"}, {"500m", "512Mi"}, {"500m", "4Gi"}, {"1", "2Gi"}, {"1", "1Gi"}, {"1500m", "4Gi"}, {"2", "8Gi"}}
	types := func(o *world.Options) {
		o.Types = nil
		for _, family := range []string{"c6a", "m5a", "r5"} {
			o.Types = append(o.Types, family+".large", family+".xlarge", family+".2xlarge")
		}
	}
	simcluster.Run(t, simcluster.Options{World: types}, func(h *simcluster.Cluster) {
		h.Apply(strings.Replace(onDemand, "consolidateAfter: 30s", "consolidateAfter: Never", 1))
		for i, size := range sizes {
			h.Deploy(fmt.Sprintf("size-%d", i), 30, size[0], size[1])
		}
		h.Pass(5 * time.Second)
		planned := price(h)
		for i := range sizes {
			h.Running(3*time.Minute, fmt.Sprintf("size-%d", i), 30)
		}
		if got := price(h); planned == 0 || got > planned+planned/10 {
			t.Errorf("instances for $%.2f/h were planned, and there are some for $%.2f/h", float64(planned)/1e6, float64(got)/1e6)
		}
	})
}

// price of all instances, in micro-USD per hour.
func price(h *simcluster.Cluster) (sum int64) {
	for _, m := range h.Instances() {
		sum += m.PriceMicroUSD
	}
	return sum
}
