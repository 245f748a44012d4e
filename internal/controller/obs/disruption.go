package obs

import "github.com/prometheus/client_golang/prometheus"

// Disruption are the metrics of voluntary disruption.
type Disruption struct {
	Evaluation        *prometheus.HistogramVec
	Decisions         *prometheus.CounterVec
	DecisionsByPool   *prometheus.CounterVec
	Eligible          *prometheus.GaugeVec
	Timeouts          *prometheus.CounterVec
	FailedValidations *prometheus.CounterVec
	QueueFailures     *prometheus.CounterVec
	Moves             *prometheus.CounterVec
	Allowed           *prometheus.GaugeVec
	Consuming         *prometheus.GaugeVec
	Pods              *prometheus.CounterVec

	Kept       *prometheus.GaugeVec
	Blocked    *prometheus.GaugeVec
	Released   *prometheus.CounterVec
	Breaker    prometheus.Gauge
	InFlight   prometheus.Gauge
	Violations prometheus.Counter
}

func disruption(t table) Disruption {
	return Disruption{
		Evaluation:        t.histogram("karpenter_voluntary_disruption_decision_evaluation_duration_seconds", "Time of one look at all nodes, for all reasons together (all).", "reason", "consolidation_type"),
		Decisions:         t.counter("karpenter_voluntary_disruption_decisions_total", "Disruptions that were begun.", "decision", "reason", "consolidation_type"),
		DecisionsByPool:   t.counter("karpenter_voluntary_disruption_decisions_by_nodepool_total", "Disruptions that were begun, once for each NodePool that loses nodes.", "decision", "reason", "consolidation_type", "nodepool"),
		Eligible:          t.gauge("karpenter_voluntary_disruption_eligible_nodes", "Nodes that nothing keeps from being considered.", "reason"),
		Timeouts:          t.counter("karpenter_voluntary_disruption_consolidation_timeouts_total", "Looks that ended before every node was tried.", "consolidation_type"),
		FailedValidations: t.counter("karpenter_voluntary_disruption_failed_validations_total", "Nodes that were to go and were not any more before they went.", "consolidation_type"),
		QueueFailures:     t.counter("karpenter_voluntary_disruption_queue_failures_total", "Disruptions that were taken back.", "decision", "reason", "consolidation_type"),
		Moves:             t.counter("karpenter_consolidation_moves_total", "Consolidations, once for each NodePool that loses nodes.", "decision", "nodepool", "policy"),
		Allowed:           t.gauge("karpenter_nodepools_allowed_disruptions", "Nodes that may go now for a reason by the NodePool's budgets. Absent without a bound.", "nodepool", "reason"),
		Consuming:         t.gauge("karpenter_nodepools_nodes_consuming_budgets", "Nodes that count against the NodePool's budgets: going, or not ready.", "nodepool", "reason"),
		Pods:              t.counter("karpenter_pods_disruption_initiated_total", "Pods on nodes that were made to go.", "reason", "nodepool", "capacity_type", "consolidation_policy", "termination_mode"),

		Kept:       t.gauge("kerf_disruption_kept_nodes", "Nodes by the first reason that keeps them.", "reason"),
		Blocked:    t.gauge("kerf_disruption_blocked_savings_dollars", "What letting nodes go would save per hour if the reason that keeps them were gone.", "reason"),
		Released:   t.counter("kerf_disruption_released_nodes_total", "Nodes that were marked and stayed after all, by the disruption's reason.", "reason"),
		Breaker:    add(t, prometheus.NewGauge(prometheus.GaugeOpts{Name: "kerf_disruption_breaker_open", Help: "1 while consolidation that moves pods is held because pods did not fit where they were said to."})),
		InFlight:   add(t, prometheus.NewGauge(prometheus.GaugeOpts{Name: "kerf_disruption_commands", Help: "Disruptions that are under way."})),
		Violations: add(t, prometheus.NewCounter(prometheus.CounterOpts{Name: "kerf_disruption_violations_total", Help: "Moves that the independent check refused. Anything above zero is a defect."})),
	}
}
