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
	Score             *prometheus.HistogramVec
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
		Evaluation:        t.histogram("karpenter_voluntary_disruption_decision_evaluation_duration_seconds", "Time of one evaluation of all nodes. One evaluation covers emptiness and consolidation (reason=underutilized, consolidation_type=multi), another one drift (reason=drifted).", "reason", "consolidation_type"),
		Decisions:         t.counter("karpenter_voluntary_disruption_decisions_total", "Disruptions that were started.", "decision", "reason", "consolidation_type"),
		DecisionsByPool:   t.counter("karpenter_voluntary_disruption_decisions_by_nodepool_total", "Disruptions that were started, counted once for each NodePool that loses nodes.", "decision", "reason", "consolidation_type", "nodepool"),
		Eligible:          t.gauge("karpenter_voluntary_disruption_eligible_nodes", "Nodes that nothing excludes from disruption, by the reason for which they could be disrupted.", "reason"),
		Timeouts:          t.counter("karpenter_voluntary_disruption_consolidation_timeouts_total", "Evaluations that ended before every node was tried.", "consolidation_type"),
		FailedValidations: t.counter("karpenter_voluntary_disruption_failed_validations_total", "Nodes that were selected for disruption and could no longer be removed when it was to start.", "consolidation_type"),
		QueueFailures:     t.counter("karpenter_voluntary_disruption_queue_failures_total", "Disruptions that were cancelled after they had started.", "decision", "reason", "consolidation_type"),
		Moves:             t.counter("karpenter_consolidation_moves_total", "Consolidations that were started, counted once for each NodePool that loses nodes.", "decision", "nodepool", "policy"),
		Score: add(t, prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "karpenter_consolidation_score", Help: "Scores of the moves that the policy Balanced judged: the share of the NodePool's bill that a move saves divided by the share of its disruption that it causes. From 0.5 a move is approved.",
			Buckets: []float64{0, .05, .1, .2, .3, .4, .5, .75, 1, 1.5, 2, 3, 5, 10, 100}}, []string{"decision", "nodepool", "policy"})),
		Allowed:   t.gauge("karpenter_nodepools_allowed_disruptions", "Nodes that the NodePool's budgets allow to be disrupted now for a reason. Absent where no budget applies.", "nodepool", "reason"),
		Consuming: t.gauge("karpenter_nodepools_nodes_consuming_budgets", "Nodes that count against the NodePool's budgets: those being removed, and those not ready.", "nodepool", "reason"),
		Pods:      t.counter("karpenter_pods_disruption_initiated_total", "Pods on nodes whose disruption was started.", "reason", "nodepool", "capacity_type", "consolidation_policy", "termination_mode"),

		Kept:       t.gauge("kerf_disruption_kept_nodes", "Nodes that are kept, by the first reason that keeps them.", "reason"),
		Blocked:    t.gauge("kerf_disruption_blocked_savings_dollars", "Savings per hour, in dollars (in China in yuan), that are missed because of a reason that keeps nodes.", "reason"),
		Released:   t.counter("kerf_disruption_released_nodes_total", "Nodes that were marked for disruption and kept after all, by the disruption's reason.", "reason"),
		Breaker:    t.single("kerf_disruption_breaker_open", "1 while consolidation that moves pods is on hold because pods did not fit where a decision had placed them."),
		InFlight:   t.single("kerf_disruption_commands", "Disruptions that are under way."),
		Violations: add(t, prometheus.NewCounter(prometheus.CounterOpts{Name: "kerf_disruption_violations_total", Help: "Moves that the independent check refused. Anything above zero is a defect."})),
	}
}
