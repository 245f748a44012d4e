package obs

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics are all metrics that Kerf itself defines. Names that users' dashboards already hold keep the karpenter prefix;
// Kerf's own start with kerf. Labels come from closed sets or are names of pools and classes, never of pods or requests.
type Metrics struct {
	shown shown

	BuildInfo *prometheus.GaugeVec

	SchedulingDuration *prometheus.HistogramVec
	QueueDepth         *prometheus.GaugeVec
	UnschedulablePods  *prometheus.GaugeVec

	NodeClaimsCreated    *prometheus.CounterVec
	NodeClaimsTerminated *prometheus.CounterVec
	NodeClaimsDisrupted  *prometheus.CounterVec
	NodeClaimsRepaired   *prometheus.CounterVec
	Uninitialized        *prometheus.GaugeVec
	NodesCreated         *prometheus.CounterVec
	NodesTerminated      *prometheus.CounterVec
	NodesDrained         *prometheus.CounterVec
	NodesLifetime        *prometheus.HistogramVec
	NodesTermination     *prometheus.SummaryVec
	ClaimTermination     *prometheus.HistogramVec
	InstanceTermination  *prometheus.HistogramVec
	NodePoolLimit        *prometheus.GaugeVec
	NodePoolUsage        *prometheus.GaugeVec
	EvictionRequests     *prometheus.CounterVec
	PodsDrained          *prometheus.CounterVec

	CloudDuration *prometheus.HistogramVec
	CloudErrors   *prometheus.CounterVec

	LaunchFailures       *prometheus.CounterVec
	UnavailableOfferings *prometheus.GaugeVec

	InterruptionReceived *prometheus.CounterVec
	InterruptionDeleted  prometheus.Counter
	InterruptionLatency  prometheus.Histogram
	InstanceUnhealthy    *prometheus.CounterVec
	InterruptionForeign  prometheus.Counter
	InterruptionPoison   *prometheus.CounterVec
	QueueReady           *prometheus.GaugeVec

	PriceAge *prometheus.GaugeVec

	PodToFleet    prometheus.Histogram
	LaunchPrice   *prometheus.HistogramVec
	UnplacedPods  *prometheus.GaugeVec
	PlanRefused   *prometheus.CounterVec
	Placed        Placed
	PlanViolation prometheus.Counter
	Shadow        Shadow
	Disruption    Disruption
	Panics        *prometheus.CounterVec
	stacks        sync.Map // where of panics to when the last stack was logged
	CacheDrift    prometheus.Gauge
	Foreign       *prometheus.GaugeVec
	ServiceUp     *prometheus.GaugeVec
}

// buckets run from 5 ms to 600 s.
var buckets = []float64{.005, .01, .025, .05, .1, .15, .2, .3, .5, .75, 1, 1.5, 2, 3, 5, 7.5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 300, 450, 600}

// table collects definitions while New builds the struct, so that the docs and the registry can't disagree.
type table struct{ reg prometheus.Registerer }

func add[C prometheus.Collector](t table, c C) C {
	t.reg.MustRegister(c)
	return c
}

func (t table) counter(name, help string, labels ...string) *prometheus.CounterVec {
	return add(t, prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels))
}

func (t table) gauge(name, help string, labels ...string) *prometheus.GaugeVec {
	return add(t, prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels))
}

func (t table) histogram(name, help string, labels ...string) *prometheus.HistogramVec {
	return add(t, prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels))
}

// NewMetrics registers every metric with reg. It panics when reg already holds one of them: that is a programming error.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	t := table{reg}
	return &Metrics{
		BuildInfo: t.gauge("karpenter_build_info", "Always 1; the labels say what is running.", "version", "goversion", "goarch", "commit"),

		SchedulingDuration: t.histogram("karpenter_scheduler_scheduling_duration_seconds", "Time of one scheduling decision.", "controller"),
		QueueDepth:         t.gauge("karpenter_scheduler_queue_depth", "Pods in the decision that is running or was last.", "controller"),
		UnschedulablePods:  t.gauge("karpenter_scheduler_unschedulable_pods_count", "Pods for which the last decision found no place.", "controller"),

		NodeClaimsCreated:    t.counter("karpenter_nodeclaims_created_total", "NodeClaims created.", "reason", "nodepool", "min_values_relaxed"),
		NodeClaimsTerminated: t.counter("karpenter_nodeclaims_terminated_total", "NodeClaims that are gone.", "nodepool", "capacity_type", "zone"),
		NodeClaimsDisrupted:  t.counter("karpenter_nodeclaims_disrupted_total", "NodeClaims that Kerf decided to remove.", "reason", "nodepool", "capacity_type", "consolidation_policy", "termination_mode"),
		NodeClaimsRepaired:   t.counter("karpenter_nodeclaims_unhealthy_disrupted_total", "NodeClaims that were replaced because their node was unhealthy.", "condition", "nodepool", "capacity_type", "image_id"),
		Uninitialized:        t.gauge("kerf_nodeclaims_uninitialized", "NodeClaims whose node joined more than 15 minutes ago and still can't take pods, by what it waits for.", "nodepool", "reason"),
		NodesCreated:         t.counter("karpenter_nodes_created_total", "Nodes that registered.", "nodepool", "zone"),
		NodesTerminated:      t.counter("karpenter_nodes_terminated_total", "Nodes that are gone.", "nodepool", "zone"),
		NodesDrained:         t.counter("karpenter_nodes_drained_total", "Nodes drained to the end.", "nodepool"),
		NodesLifetime:        t.histogram("karpenter_nodes_lifetime_duration_seconds", "Age of nodes when they went.", "nodepool"),
		NodesTermination: add(t, prometheus.NewSummaryVec(prometheus.SummaryOpts{Name: "karpenter_nodes_termination_duration_seconds",
			Help: "Time from a node's deletion to its end.", Objectives: map[float64]float64{0: 0, .5: .05, .9: .01, .99: .001, 1: 0}}, []string{"nodepool"})),
		ClaimTermination:    t.histogram("karpenter_nodeclaims_termination_duration_seconds", "Time from a NodeClaim's deletion to its end.", "nodepool"),
		InstanceTermination: t.histogram("karpenter_nodeclaims_instance_termination_duration_seconds", "Time from the first terminate call to the instance's end.", "nodepool"),
		NodePoolLimit:       t.gauge("karpenter_nodepools_limit", "Limits of NodePools.", "resource_type", "nodepool"),
		NodePoolUsage:       t.gauge("karpenter_nodepools_usage", "Capacity of NodePools' nodes.", "resource_type", "nodepool"),
		EvictionRequests:    t.counter("karpenter_pods_eviction_requests_total", "Eviction calls by answer.", "code"),
		PodsDrained:         t.counter("karpenter_pods_drained_total", "Pods evicted or deleted for a drain.", "reason"),

		CloudDuration: t.histogram("karpenter_cloudprovider_duration_seconds", "Time of calls to the cloud.", "controller", "method", "provider"),
		CloudErrors:   t.counter("karpenter_cloudprovider_errors_total", "Calls to the cloud that failed.", "controller", "method", "provider", "error"),

		LaunchFailures:       t.counter("karpenter_cloudprovider_instance_launch_failures_total", "Answers of EC2 that a pool, or a whole request, could not be launched from, by reason. Zone and zone ID are empty for a whole request.", "zone", "zone_id", "capacity_type", "reason"),
		UnavailableOfferings: t.gauge("kerf_cloud_unavailable", "What is not asked for at the moment because it failed: pools (type and zone), subnets, whole capacity types, quotas of a group of families in the region, placement groups in a zone, and classes whose instances end as they start.", "scope", "capacity_type", "reason"),

		InterruptionReceived: t.counter("karpenter_interruption_received_messages_total", "Messages read from the interruption queue.", "message_type"),
		InterruptionDeleted:  add(t, prometheus.NewCounter(prometheus.CounterOpts{Name: "karpenter_interruption_deleted_messages_total", Help: "Messages deleted from the interruption queue."})),
		InterruptionLatency:  add(t, prometheus.NewHistogram(prometheus.HistogramOpts{Name: "karpenter_interruption_message_queue_duration_seconds", Help: "Time that messages spent on the queue.", Buckets: buckets})),
		InstanceUnhealthy:    t.counter("karpenter_interruption_instance_status_unhealthy_total", "Instances whose EC2 status turned bad, by what was bad.", "category"),
		InterruptionForeign:  add(t, prometheus.NewCounter(prometheus.CounterOpts{Name: "kerf_interruption_foreign_messages_total", Help: "Messages about instances of others, dropped without being parsed."})),
		InterruptionPoison:   t.counter("kerf_interruption_poison_messages_total", "Messages given up because handling them failed too often, by the cause of the last failure.", "message_type", "cause"),
		QueueReady:           t.gauge("kerf_interruption_queue_ready", "1 while the interruption queue can be read and messages arrive, 0 while not. Absent when none is set.", "queue"),

		PriceAge: t.gauge("kerf_price_age_seconds", "Age of the prices that decisions are made with; source is aws, or embedded until AWS has answered, with the region if it is another one's. Spot is absent until AWS has answered.", "kind", "source"),

		LaunchPrice: add(t, prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "kerf_launch_price_over_plan_ratio", Help: "Price of what was launched, divided by the price that the plan counted on.",
			Buckets: []float64{.5, .8, .9, .95, 1, 1.01, 1.02, 1.03, 1.05, 1.1, 1.15, 1.2, 1.3, 1.5, 2, 5}}, []string{"capacity_type"})),
		PodToFleet:    add(t, prometheus.NewHistogram(prometheus.HistogramOpts{Name: "kerf_pod_to_launch_seconds", Help: "Time from the first sight of a pending pod to the launch call of its instance.", Buckets: buckets})),
		UnplacedPods:  t.gauge("kerf_unplaced_pods", "Pods for which the last decision found no place, by reason.", "reason"),
		Disruption:    disruption(t),
		Shadow:        shadow(t),
		Placed:        placed(t),
		PlanRefused:   t.counter("kerf_plan_actions_refused_total", "Planned actions that the newer state no longer allowed.", "reason"),
		PlanViolation: add(t, prometheus.NewCounter(prometheus.CounterOpts{Name: "kerf_plan_violations_total", Help: "Plans that the independent check refused. Anything above zero is a defect."})),
		Panics:        t.counter("kerf_panics_total", "Panics that were recovered, by what was being done. Anything above zero is a defect of Kerf.", "where"),
		CacheDrift:    add(t, prometheus.NewGauge(prometheus.GaugeOpts{Name: "kerf_cache_differences", Help: "Differences found when the cache was last compared with the API."})),
		Foreign:       t.gauge("kerf_foreign_instances", "Instances that bear this cluster's name but belong to another cluster. Anything above zero means that two clusters share a name in one account.", "cluster_uid"),
		ServiceUp:     t.gauge("kerf_aws_service_up", "1 while an AWS service answers, 0 while calls to it fail or wait in vain. Absent before the first call.", "service"),
	}
}
