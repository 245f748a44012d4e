package app

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/kerf-sh/kerf/internal/controller/obs"
)

// TestNothingIsInTheQueueBetweenDecisions: dashboards and alerts made for Karpenter take the depth for pods that wait.
func TestNothingIsInTheQueueBetweenDecisions(t *testing.T) {
	m := meter{m: obs.NewMetrics(prometheus.NewRegistry())}
	depth := func() float64 { return testutil.ToFloat64(m.m.QueueDepth.WithLabelValues(provisioner)) }
	end := m.Begin(80)
	if got := depth(); got != 80 {
		t.Errorf("%v pods in a decision about 80", got)
	}
	m.Solved(time.Second)
	if end(); depth() != 0 {
		t.Errorf("%v pods after it", depth())
	}
}
