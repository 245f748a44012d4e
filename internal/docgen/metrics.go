package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kerf-sh/kerf/internal/controller/obs"
)

// registry gives every vector one sample on its way in, because a vector without samples is not gathered.
type registry struct{ *prometheus.Registry }

// MustRegister registers collectors and touches each once.
func (r registry) MustRegister(collectors ...prometheus.Collector) {
	r.Registry.MustRegister(collectors...)
	for _, c := range collectors {
		touch(c)
	}
}

// touch makes one sample of a vector. How many labels it has is found by trying.
func touch(c prometheus.Collector) {
	for n := range 10 {
		var err error
		labels := slices.Repeat([]string{""}, n)
		switch v := c.(type) {
		case *prometheus.CounterVec:
			_, err = v.GetMetricWithLabelValues(labels...)
		case *prometheus.GaugeVec:
			_, err = v.GetMetricWithLabelValues(labels...)
		case *prometheus.HistogramVec:
			_, err = v.GetMetricWithLabelValues(labels...)
		case *prometheus.SummaryVec:
			_, err = v.GetMetricWithLabelValues(labels...)
		}
		if err == nil {
			return
		}
	}
}

func metricsPage(b *bytes.Buffer, _ string) error {
	b.WriteString(`# Metrics

Served at ` + "`/metrics`" + ` on the metrics port. Names that dashboards for the v1 API know are kept; Kerf's own begin with
` + "`kerf_`" + `. The same page holds what the Go runtime and controller-runtime say of themselves.

`)
	reg := registry{prometheus.NewPedanticRegistry()}
	obs.NewMetrics(reg)
	families, err := reg.Gather()
	if err != nil {
		return fmt.Errorf("gathering: %w", err)
	}
	head(b, "metric", "kind", "labels", "what it counts or measures")
	for _, f := range families {
		var labels []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, code(l.GetName()))
		}
		row(b, code(f.GetName()), strings.ToLower(f.GetType().String()), strings.Join(labels, " "), f.GetHelp())
	}
	return nil
}
