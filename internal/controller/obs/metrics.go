package obs

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics are all metrics that Kerf itself defines. Names that users' dashboards already hold keep the karpenter prefix;
// Kerf's own start with kerf. Labels come from closed sets or are names of pools and classes, never of pods or requests; what has
// a series for each object is made of the state when it is asked for (package statemetrics).
type Metrics struct {
	shown    shown
	registry prometheus.Registerer
	vectors  *[]vector

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

	PriceAge  *prometheus.GaugeVec
	CostFloor *prometheus.GaugeVec // without labels; it has no value before the first is found

	PodToFleet    prometheus.Histogram
	LaunchPrice   *prometheus.HistogramVec
	UnplacedPods  *prometheus.GaugeVec
	PlanRefused   *prometheus.CounterVec
	Placed        Placed
	PlanViolation prometheus.Counter
	Pods          Pods
	Work          *Work
	AWS           AWS
	Kube          Kube
	Conditions    Conditions
	SnapshotWait  prometheus.Histogram
	SnapshotTime  prometheus.Histogram
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

// quantiles are those of summaries, with how far off each may be.
var quantiles = map[float64]float64{0: 0, .5: .05, .9: .01, .99: .001, 1: 0}

// short are buckets of what takes microseconds as a rule, and seconds when something is wrong.
var short = []float64{.00001, .0001, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}

// table collects definitions while New builds the struct, so that the docs and the registry can't disagree.
type table struct {
	reg     prometheus.Registerer
	vectors *[]vector
}

// vector is a metric with labels.
type vector interface{ DeletePartialMatch(prometheus.Labels) int }

func add[C prometheus.Collector](t table, c C) C {
	t.reg.MustRegister(c)
	if v, ok := any(c).(vector); ok {
		*t.vectors = append(*t.vectors, v)
	}
	return c
}

func (t table) counter(name, help string, labels ...string) *prometheus.CounterVec {
	return add(t, prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels))
}

func (t table) gauge(name, help string, labels ...string) *prometheus.GaugeVec {
	return add(t, prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels))
}

func (t table) gaugeOnRead(name, help string, labels ...string) *OnRead {
	return add(t, &OnRead{GaugeVec: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)})
}

// single is a gauge without labels.
func (t table) single(name, help string) prometheus.Gauge {
	return add(t, prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help}))
}

func (t table) histogram(name, help string, labels ...string) *prometheus.HistogramVec {
	return add(t, prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels))
}

// NewMetrics registers every metric with reg. It panics when reg already holds one of them: that is a programming error.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	t := table{reg, new([]vector)}
	return &Metrics{
		registry: reg,
		vectors:  t.vectors,

		BuildInfo: t.gauge("karpenter_build_info", "Always 1; the labels name the version that runs.", "version", "goversion", "goarch", "commit"),

		SchedulingDuration: t.histogram("karpenter_scheduler_scheduling_duration_seconds", "Time of one decision on pods (provisioner) or on nodes (disruption).", "controller"),
		QueueDepth:         t.gauge("karpenter_scheduler_queue_depth", "Pods that the decision which is being made is about; 0 between decisions.", "controller"),
		UnschedulablePods:  t.gauge("karpenter_scheduler_unschedulable_pods_count", "Pods for which the last decision found no place.", "controller"),

		NodeClaimsCreated:    t.counter("karpenter_nodeclaims_created_total", "NodeClaims created.", "reason", "nodepool", "min_values_relaxed"),
		NodeClaimsTerminated: t.counter("karpenter_nodeclaims_terminated_total", "NodeClaims that were removed.", "nodepool", "capacity_type", "zone"),
		NodeClaimsDisrupted:  t.counter("karpenter_nodeclaims_disrupted_total", "NodeClaims whose disruption was started, or that were given up, by reason.", "reason", "nodepool", "capacity_type", "consolidation_policy", "termination_mode"),
		NodeClaimsRepaired:   t.counter("karpenter_nodeclaims_unhealthy_disrupted_total", "NodeClaims that were replaced because their node was unhealthy.", "condition", "nodepool", "capacity_type", "image_id"),
		Uninitialized:        t.gauge("kerf_nodeclaims_uninitialized", "NodeClaims whose node joined more than 15 minutes ago and still can't take pods, by what the node waits for.", "nodepool", "reason"),
		NodesCreated:         t.counter("karpenter_nodes_created_total", "Nodes that registered.", "nodepool", "zone"),
		NodesTerminated:      t.counter("karpenter_nodes_terminated_total", "Nodes that were removed.", "nodepool", "zone"),
		NodesDrained:         t.counter("karpenter_nodes_drained_total", "Nodes whose drain was completed.", "nodepool"),
		NodesLifetime:        t.histogram("karpenter_nodes_lifetime_duration_seconds", "Age of nodes when they were removed.", "nodepool"),
		NodesTermination: add(t, prometheus.NewSummaryVec(prometheus.SummaryOpts{Name: "karpenter_nodes_termination_duration_seconds",
			Help: "Time from a node's deletion until it is removed.", Objectives: quantiles}, []string{"nodepool"})),
		ClaimTermination:    t.histogram("karpenter_nodeclaims_termination_duration_seconds", "Time from a NodeClaim's deletion until it is removed.", "nodepool"),
		InstanceTermination: t.histogram("karpenter_nodeclaims_instance_termination_duration_seconds", "Time from the first call to terminate an instance until it is terminated.", "nodepool"),
		NodePoolLimit:       t.gauge("karpenter_nodepools_limit", "Limits of NodePools.", "resource_type", "nodepool"),
		NodePoolUsage:       t.gauge("karpenter_nodepools_usage", "Capacity of NodePools' nodes.", "resource_type", "nodepool"),
		EvictionRequests:    t.counter("karpenter_pods_eviction_requests_total", "Calls to evict a pod, by the HTTP status of the answer.", "code"),
		PodsDrained:         t.counter("karpenter_pods_drained_total", "Pods that were evicted or deleted to drain a node, by the reason of the drain.", "reason"),

		CloudDuration: t.histogram("karpenter_cloudprovider_duration_seconds", "Time of calls to the cloud, by the controller that makes them. Methods have the names that Karpenter gives them; Find, Tag, Resolve and Release are Kerf's own.", "controller", "method", "provider"),
		CloudErrors:   t.counter("karpenter_cloudprovider_errors_total", "Calls to the cloud that failed, by kind of error.", "controller", "method", "provider", "error"),

		LaunchFailures:       t.counter("karpenter_cloudprovider_instance_launch_failures_total", "Errors of EC2 for an offering, or for a whole request, that could not be launched, by reason. Zone and zone ID are empty for a whole request.", "zone", "zone_id", "capacity_type", "reason"),
		UnavailableOfferings: t.gauge("kerf_cloud_unavailable", "What Kerf does not launch at the moment because it failed: offerings (type and zone), those that a policy forbids, subnets, whole capacity types, quotas of a group of families in the region, placement groups in a zone, and classes whose instances end as they start.", "scope", "capacity_type", "reason"),

		InterruptionReceived: t.counter("karpenter_interruption_received_messages_total", "Messages read from the interruption queue.", "message_type"),
		InterruptionDeleted:  add(t, prometheus.NewCounter(prometheus.CounterOpts{Name: "karpenter_interruption_deleted_messages_total", Help: "Messages deleted from the interruption queue."})),
		InterruptionLatency:  add(t, prometheus.NewHistogram(prometheus.HistogramOpts{Name: "karpenter_interruption_message_queue_duration_seconds", Help: "Time that messages spent on the queue.", Buckets: buckets})),
		InstanceUnhealthy:    t.counter("karpenter_interruption_instance_status_unhealthy_total", "Instances whose EC2 status checks failed, by the check.", "category"),
		InterruptionForeign:  add(t, prometheus.NewCounter(prometheus.CounterOpts{Name: "kerf_interruption_foreign_messages_total", Help: "Messages about instances that are not of this cluster, dropped without being parsed."})),
		InterruptionPoison:   t.counter("kerf_interruption_poison_messages_total", "Messages that were given up because handling them failed too often, by the cause of the last failure.", "message_type", "cause"),
		QueueReady:           t.gauge("kerf_interruption_queue_ready", "1 while the interruption queue can be read and messages arrive, 0 while not. Absent when none is set.", "queue"),

		PriceAge: t.gauge("kerf_price_age_seconds", "Age of the prices in use. Source is aws, or embedded until AWS has answered, with the region if the prices are of another region. Spot is absent until AWS has answered.", "kind", "source"),

		CostFloor: t.gauge("kerf_cost_floor_dollars", "The least that instances for the pods on nodes of Kerf's could cost per hour, in dollars (in China in yuan), proved. Absent unless --kerf-floor-every is set."),

		LaunchPrice: add(t, prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "kerf_launch_price_over_plan_ratio", Help: "Price of the launched instance divided by the price that the plan counted on.",
			Buckets: []float64{.5, .8, .9, .95, 1, 1.01, 1.02, 1.03, 1.05, 1.1, 1.15, 1.2, 1.3, 1.5, 2, 5}}, []string{"capacity_type"})),
		PodToFleet:    add(t, prometheus.NewHistogram(prometheus.HistogramOpts{Name: "kerf_pod_to_launch_seconds", Help: "Time from when Kerf first finds that a pod waits until the call that launches its instance.", Buckets: buckets})),
		UnplacedPods:  t.gauge("kerf_unplaced_pods", "Pods for which the last decision found no place, by reason.", "reason"),
		Pods:          pods(t),
		Work:          work(t),
		AWS:           awsCalls(t),
		Kube:          kube(t),
		Conditions:    conditions(t),
		SnapshotWait:  add(t, prometheus.NewHistogram(prometheus.HistogramOpts{Name: "kerf_snapshot_wait_seconds", Help: "How long those who asked for a snapshot of the cluster's state waited for the state's lock.", Buckets: short})),
		SnapshotTime:  add(t, prometheus.NewHistogram(prometheus.HistogramOpts{Name: "kerf_snapshot_duration_seconds", Help: "Time that a snapshot of the cluster's state took once it had the lock.", Buckets: short})),
		Disruption:    disruption(t),
		Shadow:        shadow(t),
		Placed:        placed(t),
		PlanRefused:   t.counter("kerf_plan_actions_refused_total", "Planned actions that were not carried out because the state had changed, by reason.", "reason"),
		PlanViolation: add(t, prometheus.NewCounter(prometheus.CounterOpts{Name: "kerf_plan_violations_total", Help: "Plans that the independent check refused. Anything above zero is a defect."})),
		Panics:        t.counter("kerf_panics_total", "Panics that were recovered, by the part of Kerf. Anything above zero is a defect of Kerf.", "where"),
		CacheDrift:    add(t, prometheus.NewGauge(prometheus.GaugeOpts{Name: "kerf_cache_differences", Help: "Differences found when the cache was last compared with the API."})),
		Foreign:       t.gauge("kerf_foreign_instances", "Instances that are tagged with this cluster's name but belong to another cluster. Anything above zero means that two clusters share a name in one account.", "cluster_uid"),
		ServiceUp:     t.gauge("kerf_aws_service_up", "1 while an AWS service answers, 0 while calls to it fail or get no answer. Absent before the first call.", "service"),
	}
}
