package app

import (
	"slices"
	"strings"
	"testing"

	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
)

// What dashboards know of the Go runtime is there, what nobody asks for is not.
func TestGoMetricsAreThoseOfUse(t *testing.T) {
	if err := goMetrics(ctrlmetrics.Registry); err != nil {
		t.Fatal(err)
	}
	families, err := ctrlmetrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range families {
		names = append(names, f.GetName())
		if strings.HasPrefix(f.GetName(), "go_godebug_") {
			t.Errorf("%s is shown", f.GetName())
		}
	}
	for _, want := range []string{"go_goroutines", "go_memstats_heap_inuse_bytes", "go_gc_duration_seconds", "go_sched_latencies_seconds", "process_cpu_seconds_total"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is missing", want)
		}
	}
}
