package obs

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kerf-sh/kerf/internal/guard"
)

// Collector makes metrics when somebody asks for them.
type Collector interface {
	// Describe are all metrics that it can make.
	Describe() []*prometheus.Desc
	// Collect makes them. It must not block.
	Collect() []prometheus.Metric
}

// Collect registers a collector. One that panics gives no metrics that time: it is counted and logged like every panic, and neither
// the process nor other metrics suffer.
//
// Errors: one of its metrics is registered already.
func (m *Metrics) Collect(log *slog.Logger, name string, c Collector) error {
	if err := m.registry.Register(&guarded{m, log, name, c}); err != nil {
		return fmt.Errorf("registering the metrics of %s: %w", name, err)
	}
	return nil
}

type guarded struct {
	metrics *Metrics
	log     *slog.Logger
	name    string
	next    Collector
}

// Describe implements prometheus.Collector.
func (g *guarded) Describe(to chan<- *prometheus.Desc) {
	for _, d := range g.next.Describe() {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (g *guarded) Collect(to chan<- prometheus.Metric) {
	var made []prometheus.Metric
	err := guard.Catch("metrics."+g.name, func() error { made = g.next.Collect(); return nil })
	var p *guard.Panic
	if errors.As(err, &p) {
		g.metrics.panicked(g.log, p)
		return
	}
	for _, one := range made {
		to <- one
	}
}
