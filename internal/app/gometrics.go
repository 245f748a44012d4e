package app

import (
	"fmt"
	"regexp"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// goMetrics has a registry of controller-runtime show what the Go runtime tells of itself, but for the some 50 counters of
// compatibility settings (go_godebug_*), which no dashboard uses.
func goMetrics(registry prometheus.Registerer) error {
	registry.Unregister(collectors.NewGoCollector(collectors.WithGoCollectorRuntimeMetrics(collectors.MetricsAll)))
	err := registry.Register(collectors.NewGoCollector(collectors.WithGoCollectorRuntimeMetrics(collectors.MetricsAll),
		collectors.WithoutGoCollectorRuntimeMetrics(regexp.MustCompile(`^/godebug/`))))
	if err != nil {
		return fmt.Errorf("registering the metrics of the Go runtime: %w", err)
	}
	return nil
}
