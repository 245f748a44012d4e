package obs

import "github.com/prometheus/client_golang/prometheus"

// Shadow are the metrics of a controller that reads only.
type Shadow struct {
	Bill      *prometheus.GaugeVec
	Decisions *prometheus.CounterVec
	Refused   *prometheus.CounterVec
	Missed    prometheus.Gauge
}

func shadow(t table) Shadow {
	return Shadow{
		Bill:      t.gauge("kerf_shadow_bill_dollars", "In a shadow run, what the nodes of a NodePool cost per hour, in dollars (in China in yuan): of=running as they are, of=kerf as Kerf's decisions would leave them.", "nodepool", "of"),
		Decisions: t.counter("kerf_shadow_decisions_total", "In a shadow run, what Kerf would have done, each action once: what is launch, delete or replace.", "what", "reason", "nodepool"),
		Refused:   t.counter("kerf_shadow_refused_calls_total", "In a shadow run, calls that would have changed something and were blocked. Anything above zero is a defect.", "call"),
		Missed:    add(t, prometheus.NewGauge(prometheus.GaugeOpts{Name: "kerf_shadow_missed_dollars", Help: "In a shadow run, dollars (in China yuan) that the running nodes have cost so far above what Kerf's decisions would have left at each moment; below zero if less."})),
	}
}
