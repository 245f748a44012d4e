// Package alerts holds the alert rules for Prometheus. Symptoms, of which users notice something now, are critical; causes and
// what costs money are warnings. docs/alerts.md is the runbook, with a section for each.
package alerts

import (
	"strings"
	"time"

	"github.com/kerf-sh/kerf/internal/aws/awserr"
	"github.com/kerf-sh/kerf/internal/engine/plan"
)

// Runbook is the page that has a section for each alert.
const Runbook = "https://github.com/kerf-sh/kerf/blob/main/docs/alerts.md"

// Severities of alerts.
const (
	Critical = "critical" // somebody should look now, at night too
	Warning  = "warning"  // somebody should look on the next working day
)

// Alert is one rule.
type Alert struct {
	Name string
	// Severity is Critical or Warning.
	Severity string
	// For is how long the expression must hold, and Because why that long.
	For     time.Duration
	Because string
	// Expr is the expression in PromQL. It keeps the labels cluster and job, if there are any.
	Expr string
	// Summary says in one line what is wrong, Impact what it costs users. Both may have Prometheus' templates.
	Summary, Impact string
}

// passing are reasons of failed launches that pass by themselves: capacity that EC2 lacks at the moment, its own errors, and
// throttling, which has an alert of its own. The rest needs a person.
var passing = strings.Join([]string{
	awserr.ReasonInsufficientCapacity, awserr.ReasonUnfulfillableCapacity, awserr.ReasonReservationExceeded, awserr.ReasonRequestLimitExceeded, awserr.ReasonInternalError,
}, "|")

// ofTheCluster are reasons why pods have no place that whoever runs the cluster can change; the rest is up to the owners of the pods.
// beside are reasons that stand beside others, settle by themselves, or have an alert of their own.
var (
	ofTheCluster = anyOf(plan.NoOffering, plan.TooDear, plan.PoolNotReady, plan.NoPools, plan.NoAddresses)
	beside       = anyOf(plan.NodesFull, plan.ReservationPending, plan.AskedAgain, plan.CheckFailed)
)

func anyOf(codes ...plan.Code) string {
	var out []string
	for _, c := range codes {
		out = append(out, string(c))
	}
	return strings.Join(out, "|")
}

// unplaced are pods without a place, by reason. In a shortage they have a place for up to three minutes now and then, while EC2 is
// asked again; that does not count.
func unplaced(operator, reasons string) string {
	return `max by (cluster, job, reason) (max_over_time(kerf_unplaced_pods{reason` + operator + `"` + reasons + `"}[5m])) > 0`
}

// notReady names the objects of a kind that are not ready, where the metrics of conditions are not left out.
func notReady(kind string) string {
	return `{{ with printf "operator_status_condition_count{cluster='%s',kind='` + kind + `',type='Ready',status!='True'}" $labels.cluster | query }}:` +
		`{{ range . }} {{ .Labels.name }} ({{ .Labels.reason }}){{ end }}{{ end }}`
}

// risen is by how much a counter has risen in the last hour. Unlike increase it also sees a series that begins with the event.
func risen(counter string) string {
	now := "sum by (cluster, job, where) (" + counter + ")"
	return now + " - (sum by (cluster, job, where) (" + counter + " offset 1h) or " + now + " * 0)"
}

// All are the alerts, in the order of the runbook.
func All() []Alert {
	const minute, hour = time.Minute, time.Hour
	return []Alert{
		{
			Name: "KerfDown", Severity: Critical, For: 10 * minute,
			Because: "a rollout, or a node that fails and its pod that starts elsewhere, takes up to five minutes",
			Expr:    `absent(karpenter_build_info)`,
			Summary: "No controller serves metrics.",
			Impact:  "If no controller runs, pods without room stay pending, spot interruptions are not handled, and nothing is consolidated. Running pods are not touched.",
		},
		{
			Name: "KerfNotDeciding", Severity: Critical, For: 10 * minute,
			Because: "a change of leader takes under a minute; the first list of a cluster of 5,000 nodes takes some minutes",
			Expr: `max by (cluster, job) (karpenter_cluster_state_synced) unless max by (cluster, job) (karpenter_cluster_state_node_count)
or
max by (cluster, job) (karpenter_scheduler_unfinished_work_seconds{controller="provisioner"}) > 120`,
			Summary: "A controller runs and makes no decisions: none leads, its view of the cluster is not complete, or a decision hangs.",
			Impact:  "New pods without room stay pending.",
		},
		{
			Name: "KerfPodsWaitForNodes", Severity: Critical, For: 5 * minute,
			Because: "the time that counts is in the metric: a node takes one to three minutes, and an instance that does not register is replaced after 15",
			Expr:    `max by (cluster, job) (kerf_oldest_placed_pod_seconds) > 900`,
			Summary: "A pod has waited for {{ $value | humanizeDuration }} for the node that was decided for it.",
			Impact:  "Pods don't run although the cluster may grow for them.",
		},
		{
			Name: "KerfPodsWithoutCapacity", Severity: Critical, For: 15 * minute,
			Because: "EC2 often has capacity again within minutes, and Kerf tries again by itself",
			Expr:    unplaced("=~", ofTheCluster),
			Summary: "{{ $value }} pods have no place for a reason that lies with the cluster: {{ $labels.reason }}.",
			Impact:  "These pods stay pending until capacity, a NodePool or a subnet changes.",
		},
		{
			Name: "KerfPodsUnplaceable", Severity: Warning, For: 15 * minute,
			Because: "a rollout that waits for volumes, limits or other pods settles in minutes",
			Expr:    unplaced("!~", ofTheCluster+"|"+beside),
			Summary: "{{ $value }} pods have no place on any node that the NodePools allow: {{ $labels.reason }}.",
			Impact:  "These pods stay pending until they, or the NodePools, are changed.",
		},
		{
			Name: "KerfNodePoolNotReady", Severity: Warning, For: 10 * minute,
			Because: "a changed object is not ready for some seconds, and AWS may take minutes to know a new role or subnet",
			Expr:    `max by (cluster, job) (kerf_oldest_unready_seconds{kind="NodePool"}) > 0`,
			Summary: "A NodePool is not ready" + notReady("NodePool") + ".",
			Impact:  "It launches no nodes. Pods that only it can serve stay pending.",
		},
		{
			Name: "KerfNodePoolAtLimit", Severity: Warning, For: 15 * minute,
			Because: "replacing nodes takes more room for some minutes",
			Expr:    `max by (cluster, job, nodepool, resource_type) (karpenter_nodepools_usage / (karpenter_nodepools_limit > 0)) > 0.95`,
			Summary: "NodePool {{ $labels.nodepool }} has used {{ $value | humanizePercentage }} of its limit on {{ $labels.resource_type }}.",
			Impact:  "Pods that it serves will soon stay pending, and its nodes can't be replaced before they are removed.",
		},
		{
			Name: "KerfLaunchesFail", Severity: Warning, For: 15 * minute,
			Because: "one launch that fails is tried again, elsewhere if need be",
			Expr:    `sum by (cluster, job, capacity_type, reason) (increase(karpenter_cloudprovider_instance_launch_failures_total{reason!~"` + passing + `"}[30m])) > 0`,
			Summary: "EC2 refuses launches ({{ $labels.capacity_type }}): {{ $labels.reason }}.",
			Impact:  "Pods wait longer, or run on dearer instances: on-demand in place of spot, say.",
		},
		{
			Name: "KerfNodesNotJoining", Severity: Warning, For: 5 * minute,
			Because: "the time that counts is in the metric: a node is ready one to three minutes after its launch",
			Expr:    `max by (cluster, job) (max_over_time(kerf_oldest_unready_seconds{kind="NodeClaim"}[15m])) > 600`,
			Summary: "A NodeClaim has had no ready node for {{ $value | humanizeDuration }}" + notReady("NodeClaim") + ".",
			Impact:  "Instances are paid for and run no pods; pods wait.",
		},
		{
			Name: "KerfDrainStuck", Severity: Warning, For: 5 * minute,
			Because: "the time that counts is in the metric: an hour is longer than most pods take to end",
			Expr:    `max by (cluster, job) (kerf_oldest_drain_seconds) > 3600`,
			Summary: "A node has been draining for {{ $value | humanizeDuration }}.",
			Impact:  "The instance is still paid for. An update of images, or of the nodes' settings, does not get on.",
		},
		{
			Name: "KerfQueueNotReady", Severity: Warning, For: 10 * minute,
			Because: "SQS and the network have outages of some minutes",
			Expr:    `max by (cluster, job, queue) (kerf_interruption_queue_ready) == 0`,
			Summary: "The interruption queue {{ $labels.queue }} can't be read, or gets no messages.",
			Impact:  "Spot instances end without notice: their pods are killed rather than moved first.",
		},
		{
			Name: "KerfAWSServiceFails", Severity: Warning, For: 10 * minute,
			Because: "AWS has errors of some minutes, which are retried",
			Expr:    `min by (cluster, job, service) (kerf_aws_service_up) == 0`,
			Summary: "Calls to {{ $labels.service }} fail or get no answer.",
			Impact:  "Without EC2, no nodes are launched or terminated. Without the others, images, prices, roles or types are not renewed.",
		},
		{
			Name: "KerfAWSThrottles", Severity: Warning, For: 15 * minute,
			Because: "after a burst of launches throttling ends within minutes",
			Expr: `sum by (cluster, job, service, action) (rate(kerf_aws_throttled_attempts_total[10m]))
/
sum by (cluster, job, service, action) (rate(aws_sdk_go_request_attempt_total[10m])) > 0.1`,
			Summary: "AWS throttles {{ $value | humanizePercentage }} of the attempts of {{ $labels.service }} {{ $labels.action }}.",
			Impact:  "Nodes are launched and terminated later.",
		},
		{
			Name: "KerfConsolidationPaused", Severity: Warning, For: 5 * minute,
			Because: "the time that counts is in the expression: the breaker is open for 10 minutes, then 20, 40 and 80, so that four openings in a row take more than two of four hours",
			Expr:    `sum_over_time(max by (cluster, job) (kerf_disruption_breaker_open)[4h:1m]) > 120`,
			Summary: "Consolidation that moves pods was paused for {{ $value }} of the last 240 minutes, because pods did not fit where decisions placed them.",
			Impact:  "Nothing breaks. Savings are missed.",
		},
		{
			Name: "KerfClusterNameShared", Severity: Warning, For: 15 * minute,
			Because: "tags of a cluster that was made anew under the same name go within minutes",
			Expr:    `sum by (cluster, job) (kerf_foreign_instances) > 0`,
			Summary: "{{ $value }} instances bear this cluster's name and belong to another cluster.",
			Impact:  "Kerf leaves them alone. Policies, queues and discovery tags that go by the name are shared by both clusters.",
		},
		{
			Name: "KerfDefect", Severity: Warning, For: 0,
			Because: "one is enough, and no time makes it better",
			Expr: risen("kerf_panics_total") + ` > 0
or
sum by (cluster, job) (increase(kerf_plan_violations_total[1h]) + increase(kerf_disruption_violations_total[1h])) > 0`,
			Summary: "Kerf has caught a defect of its own{{ with $labels.where }} in {{ . }}{{ end }}.",
			Impact:  "The one decision or object that it concerns is tried again or left alone. Everything else goes on.",
		},
	}
}
