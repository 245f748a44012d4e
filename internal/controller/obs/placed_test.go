package obs

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestTheShareThatIsPlacedAsPlanned(t *testing.T) {
	m := NewMetrics(prometheus.NewRegistry())
	ratio := func(decision string) float64 { return testutil.ToFloat64(m.Placed.ratio.WithLabelValues(decision)) }
	for i := range 4 {
		m.Placed.Note(false, i > 0)
	}
	m.Placed.Note(true, false)
	if got := ratio("provisioning"); got != 0.75 {
		t.Errorf("provisioning %g, want 0.75", got)
	}
	if got := ratio("disruption"); got != 0 {
		t.Errorf("disruption %g, want 0", got)
	}
	for range lastMost {
		m.Placed.Note(false, true)
	}
	if got := ratio("provisioning"); got != 1 {
		t.Errorf("provisioning %g, want 1: what was before the last %d does not count", got, lastMost)
	}
	if got := testutil.ToFloat64(m.Placed.pods.WithLabelValues("provisioning", "false")); got != 1 {
		t.Errorf("%g pods elsewhere, want 1", got)
	}
}
