package statemetrics

import (
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/obs"
)

// family is a metric with its labels. All are gauges.
type family struct {
	name, help string
	labels     []string
	ofNodes    bool // it has labelsOfNodes too
	desc       *prometheus.Desc
}

var families []*family

func gauge(name, help string, labels ...string) *family {
	f := &family{name: name, help: help, labels: labels, desc: prometheus.NewDesc(name, help, labels, nil)}
	families = append(families, f)
	return f
}

// Family is what the reference says of a metric.
type Family struct {
	Name, Help string
	Labels     []string
	// NodeLabels says that it has the well-known labels of nodes too; see NodeLabels.
	NodeLabels bool
}

// NodeLabels are the names under which metrics have the well-known labels of nodes.
func NodeLabels() []string { return slices.Sorted(maps.Keys(labelsOfNodes)) }

// Families are the metrics that a Collector makes, sorted by name. All are gauges.
func Families() []Family {
	var out []Family
	for _, f := range families {
		out = append(out, Family{f.name, f.help, f.labels, f.ofNodes})
	}
	slices.SortFunc(out, func(a, b Family) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// labelsOfNodes are the labels of nodes that their metrics have, by the name that metrics give them: what follows the last slash, with
// underscores.
var labelsOfNodes = func() map[string]string {
	out := map[string]string{}
	for _, key := range slices.Concat(karpv1.CoreLabelRules().WellKnown(), awsv1.WellKnownLabels()) {
		_, name, _ := strings.Cut(key, "/")
		out[strings.NewReplacer("-", "_", ".", "_").Replace(name)] = key
	}
	return out
}()

func nodeGauge(name, help string, more ...string) *family {
	f := gauge("karpenter_nodes_"+name, help, append([]string{"node_name", "phase", "managed"}, more...)...)
	f.ofNodes, f.desc = true, prometheus.NewDesc(f.name, help, append(NodeLabels(), f.labels...), nil)
	return f
}

var (
	stateNodes    = gauge("karpenter_cluster_state_node_count", "Nodes in the cluster's state: those that exist, and those that are being launched.")
	stateSynced   = gauge("karpenter_cluster_state_synced", "1 once the first list of every kind is in the cluster's state, 0 before. No decision is made before. Each replica tells of itself.")
	stateUnsynced = gauge("karpenter_cluster_state_unsynced_time_seconds", "How long the cluster's state has not been synced; 0 once it is.")
	utilization   = gauge("karpenter_cluster_utilization_percent", "What pods on nodes request, as a share of what all nodes have allocatable, in percent.", "resource_type")

	nodeAllocatable    = nodeGauge("allocatable", "Resources of a node that pods can take.", "resource_type")
	nodeRequests       = nodeGauge("total_pod_requests", "Sum of the requests of the pods on a node, DaemonSet pods included.", "resource_type")
	nodeLimits         = nodeGauge("total_pod_limits", "Sum of the limits of the pods on a node, DaemonSet pods included.", "resource_type")
	nodeDaemonRequests = nodeGauge("total_daemon_requests", "Sum of the requests of the DaemonSet pods on a node.", "resource_type")
	nodeDaemonLimits   = nodeGauge("total_daemon_limits", "Sum of the limits of the DaemonSet pods on a node.", "resource_type")
	nodeOverhead       = nodeGauge("system_overhead", "What a node has in capacity and does not let pods take: its capacity less its allocatable.", "resource_type")
	nodeLifetime       = nodeGauge("current_lifetime_seconds", "Age of a node.")

	poolCost     = gauge("karpenter_nodepools_cost_total", "What the nodes of a NodePool cost, in dollars per hour at the prices in use, NodeOverlays included. It is no bill.", "nodepool")
	poolUnpriced = gauge("kerf_nodepools_unpriced_nodes", "Nodes of a NodePool whose price is not known, so that karpenter_nodepools_cost_total lacks them.", "nodepool")

	podState        = gauge("karpenter_pods_state", "Always 1: a pod that is not over, with its state in the labels.", "name", "namespace", "owner", "node", "scheduled", "nodepool", "zone", "arch", "capacity_type", "instance_type", "phase", "ready", "managed")
	podUnstarted    = gauge("karpenter_pods_unstarted_time_seconds", "Age of a pod that does not run yet.", "name", "namespace")
	podUnbound      = gauge("karpenter_pods_unbound_time_seconds", "Age of a pod that is not bound to a node yet.", "name", "namespace")
	podPlacedNoRun  = gauge("karpenter_pods_provisioning_unstarted_time_seconds", "Time since a decision first had a place for a pod that does not run yet.", "name", "namespace")
	podPlacedNoNode = gauge("karpenter_pods_provisioning_unbound_time_seconds", "Time since a decision first had a place for a pod that is not bound to a node yet.", "name", "namespace")
	podUndecided    = gauge("karpenter_pods_provisioning_scheduling_undecided_time_seconds", "Time since Kerf first found that a pod waits, without a decision on it yet.", "name", "namespace")

	ignoredPods = gauge("karpenter_scheduler_ignored_pods_count", "Pending pods for which no node is launched because they can't run on any: a volume claim that does not exist, say.")
	podsByZone  = gauge("karpenter_scheduler_pending_pods_by_effective_zone_count", "Pending pods by the zone that their selectors, affinities and volumes leave: its name, flexible for several, none where they contradict each other.", "controller", "zone")

	oldestPending = gauge("kerf_oldest_pending_pod_seconds", "Age of the oldest pod that waits for a node; 0 without one.")
	oldestPlaced  = gauge("kerf_oldest_placed_pod_seconds", "Time since a decision first had a place for the pod that has waited longest since then without being bound to a node; 0 without one.")
	oldestDrain   = gauge("kerf_oldest_drain_seconds", "Time since the deletion of the node that has been draining longest; 0 without one.")
	oldestUnready = gauge("kerf_oldest_unready_seconds", "For how long the object of a kind has not been ready that has not been for longest; 0 where all are.", "kind")

	passSeconds = gauge("kerf_state_metrics_duration_seconds", "How long it took to make the metrics of the state for this scrape.")
	passSeries  = gauge("kerf_state_metrics_series", "Series that the metrics of the state have in this scrape.")
)

// conditionGauges are those of one kind, or of all.
type conditionGauges struct{ count, seconds, terminating *family }

func conditionGaugesOf(prefix, of string, labels ...string) conditionGauges {
	with := func(own ...string) []string { return append(own, labels...) }
	return conditionGauges{
		count:       gauge(prefix+"_status_condition_count", "Always 1: a condition of "+of+", with its status in the labels.", with("namespace", "name", "type", "status", "reason")...),
		seconds:     gauge(prefix+"_status_condition_current_status_seconds", "How long a condition of "+of+" has had its status.", with("namespace", "name", "type", "status", "reason")...),
		terminating: gauge(prefix+"_termination_current_time_seconds", "Time since the deletion of "+of+" that is not gone yet.", with("namespace", "name")...),
	}
}

var (
	genericGauges = conditionGaugesOf("operator", "an object", "group", "kind")
	kindGauges    = func() map[string]conditionGauges {
		out := map[string]conditionGauges{}
		for i := range obs.Kinds {
			k := &obs.Kinds[i]
			out[k.Name] = conditionGaugesOf(k.Prefix(), obs.Article(k.Name), k.MetricLabels()...)
		}
		return out
	}()
)
