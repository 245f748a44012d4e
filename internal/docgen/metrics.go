package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/controller/statemetrics"
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
		case *obs.OnRead:
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

// metric is a row of the page.
type metric struct{ name, kind, labels, help string }

func metricsPage(b *bytes.Buffer, _ string) error {
	all, err := metrics()
	if err != nil {
		return err
	}
	upstream := obs.Karpenter()
	b.WriteString(`# Metrics

Served at ` + "`/metrics`" + ` on the metrics port. Kerf's own begin with ` + "`kerf_`" + `. [How many series there are, what a scrape costs and how to
leave series out](../metrics.md).

`)
	fmt.Fprintf(b, "Karpenter 1.14 and its AWS provider document %d metrics. Kerf serves them under the same names, with the same types and labels, but for [%d](#what-differs-from-karpenter).\n",
		len(upstream), count(upstream, func(m obs.KarpenterMetric) bool { return m.Note != "" }))
	b.WriteString(`A metric of an event has no series before its first event. The page also has what controller-runtime, its work queues, leader election,
the Kubernetes client and the Go runtime measure.

`)
	head(b, "metric", "kind", "labels", "what it counts or measures")
	for _, m := range all {
		row(b, code(m.name), m.kind, m.labels, m.help)
	}
	b.WriteString(`
Node labels are the well-known labels of nodes, by what follows the slash, with underscores: `)
	for i, label := range statemetrics.NodeLabels() {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(code(label))
	}
	b.WriteString(`. A node that lacks one has no such label.

## What differs from Karpenter

`)
	head(b, "metric", "served", "what differs")
	for _, m := range upstream {
		if m.Note != "" {
			served := "yes"
			if m.Served == obs.Never {
				served = "no"
			}
			row(b, code(m.Name), served, m.Note)
		}
	}
	return nil
}

func count[T any](list []T, when func(T) bool) (n int) {
	for _, x := range list {
		if when(x) {
			n++
		}
	}
	return n
}

// metrics are all that Kerf defines, sorted by name.
func metrics() ([]metric, error) {
	reg := registry{prometheus.NewPedanticRegistry()}
	obs.NewMetrics(reg)
	gathered, err := reg.Gather()
	if err != nil {
		return nil, fmt.Errorf("gathering: %w", err)
	}
	var out []metric
	for _, f := range gathered {
		var labels []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, l.GetName())
		}
		out = append(out, metric{f.GetName(), strings.ToLower(f.GetType().String()), codes(labels), f.GetHelp()})
	}
	for _, f := range statemetrics.Families() {
		labels := codes(f.Labels)
		if f.NodeLabels {
			labels += " and node labels"
		}
		out = append(out, metric{f.Name, "gauge", labels, f.Help})
	}
	slices.SortFunc(out, func(a, b metric) int { return strings.Compare(a.name, b.name) })
	return out, nil
}

func codes(labels []string) string {
	var out []string
	for _, l := range slices.Sorted(slices.Values(labels)) {
		out = append(out, code(l))
	}
	return strings.Join(out, " ")
}
