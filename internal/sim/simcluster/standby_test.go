package simcluster_test

import (
	"slices"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/kerf-sh/kerf/internal/sim/simcluster"
)

// TestAStandbyTakesSnapshots though it decides nothing: what changed since the last snapshot is kept until the next, and a replica that took
// none would gather the changes of weeks, in memory and for the first decision that it makes as the leader.
func TestAStandbyTakesSnapshots(t *testing.T) {
	t.Parallel()
	simcluster.Run(t, simcluster.Options{}, func(h *simcluster.Cluster) {
		h.Apply(simcluster.Defaults)
		h.Deploy("web", 3, "1", "1Gi")
		h.Running(5*time.Minute, "", 3)
		leader := h.Controller()
		standby := h.StartController()
		defer leader.Stop()
		family := func(p *simcluster.Process, name string) *dto.MetricFamily {
			families, err := p.Metrics.Gather()
			if err != nil {
				h.T.Fatal(err)
			}
			if at := slices.IndexFunc(families, func(f *dto.MetricFamily) bool { return f.GetName() == name }); at >= 0 {
				return families[at]
			}
			return nil
		}
		taken := func() uint64 {
			return family(standby, "kerf_snapshot_duration_seconds").GetMetric()[0].GetHistogram().GetSampleCount()
		}
		const minutes = 10
		h.Pass(time.Minute) // its first lists
		before := taken()
		h.Pass(minutes * time.Minute)
		if n := taken() - before; n < minutes-1 {
			h.T.Errorf("the standby took %d snapshots in %d minutes", n, minutes)
		} else {
			h.T.Logf("%d snapshots in %d minutes", n, minutes)
		}
		const leads = "karpenter_cluster_state_node_count" // only who leads has it
		if family(standby, leads) != nil || family(leader, leads) == nil {
			h.T.Error("the standby leads")
		}
	})
}
