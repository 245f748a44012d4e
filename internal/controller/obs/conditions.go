package obs

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Kind is a kind whose conditions and end have metrics of their own.
type Kind struct {
	Name, Group string
	// Generic kinds are in the metrics without the kind in their name as well.
	Generic bool
	// Labels are those of the object's labels that its metrics have.
	Labels []string
}

// Kinds are those whose conditions are shown. Which are generic, and which labels of objects they show, is Karpenter's choice.
var Kinds = []Kind{
	{Name: "NodeClaim", Group: "karpenter.sh", Generic: true, Labels: []string{"karpenter.k8s.aws/ec2nodeclass", "karpenter.sh/nodepool"}},
	{Name: "NodePool", Group: "karpenter.sh", Generic: true},
	{Name: "EC2NodeClass", Group: "karpenter.k8s.aws", Generic: true},
	{Name: "Node", Labels: []string{"karpenter.k8s.aws/ec2nodeclass", "karpenter.sh/initialized", "karpenter.sh/nodepool"}},
	{Name: "CapacityBuffer", Group: "autoscaling.x-k8s.io"},
}

// Prefix is what the names of the kind's metrics begin with.
func (k *Kind) Prefix() string { return "operator_" + strings.ToLower(k.Name) }

// MetricLabels are the names under which metrics have the object's labels: Prometheus has no slash, dot or dash.
func (k *Kind) MetricLabels() []string {
	var out []string
	for _, label := range k.Labels {
		out = append(out, metricLabel(label))
	}
	return out
}

// metricLabel is the name under which metrics have a label of objects.
func metricLabel(label string) string {
	return strings.NewReplacer("/", "_", ".", "_", "-", "_").Replace(label)
}

// Conditions are how conditions change and objects end. Their present state is a metric of the state (package statemetrics).
type Conditions struct {
	kinds   map[string]kindMetrics
	generic kindMetrics
}

type kindMetrics struct {
	kind        *Kind
	transitions *prometheus.CounterVec
	seconds     *prometheus.HistogramVec
	termination *prometheus.HistogramVec
}

func conditions(t table) Conditions {
	out := Conditions{kinds: map[string]kindMetrics{}, generic: kindMetricsOf(t, "operator", "an object", "group", "kind")}
	for i := range Kinds {
		k := &Kinds[i]
		m := kindMetricsOf(t, k.Prefix(), Article(k.Name), k.MetricLabels()...)
		m.kind = k
		out.kinds[k.Name] = m
	}
	return out
}

// Article is the kind with its article.
func Article(kind string) string {
	if strings.ContainsRune("AEIOU", rune(kind[0])) {
		return "an " + kind
	}
	return "a " + kind
}

func kindMetricsOf(t table, prefix, of string, labels ...string) kindMetrics {
	with := func(own ...string) []string { return append(own, labels...) }
	return kindMetrics{
		transitions: t.counter(prefix+"_status_condition_transitions_total", "Changes of the status of conditions of "+of+", by the new status and its reason.", with("type", "status", "reason")...),
		seconds:     t.histogram(prefix+"_status_condition_transition_seconds", "How long a condition of "+of+" had a status before it changed, by that status.", with("type", "status")...),
		termination: t.histogram(prefix+"_termination_duration_seconds", "Time from the deletion of "+of+" until it is gone.", labels...),
	}
}

// Changed notes that a condition of an object has another status than before. Values are the object's labels, in the order of the
// kind's.
func (c Conditions) Changed(kind, conditionType, from, to, reason string, lasted time.Duration, values []string) {
	m, ok := c.kinds[kind]
	if !ok {
		return
	}
	m.transitions.WithLabelValues(append([]string{conditionType, to, reason}, values...)...).Inc()
	m.seconds.WithLabelValues(append([]string{conditionType, from}, values...)...).Observe(lasted.Seconds())
	if m.kind.Generic {
		c.generic.transitions.WithLabelValues(conditionType, to, reason, m.kind.Group, kind).Inc()
		c.generic.seconds.WithLabelValues(conditionType, from, m.kind.Group, kind).Observe(lasted.Seconds())
	}
}

// Ended notes that an object is gone, so long after its deletion.
func (c Conditions) Ended(kind string, took time.Duration, values []string) {
	m, ok := c.kinds[kind]
	if !ok {
		return
	}
	m.termination.WithLabelValues(values...).Observe(took.Seconds())
	if m.kind.Generic {
		c.generic.termination.WithLabelValues(m.kind.Group, kind).Observe(took.Seconds())
	}
}
