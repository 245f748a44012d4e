package obs

import (
	"strings"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// shown is which values each gauge has that is replaced as a whole.
type shown struct {
	mu     sync.Mutex
	labels map[*prometheus.GaugeVec]map[string][]string
}

// Replace gives a gauge the values that fill sets, and takes away those that it had set before. A scrape in between sees
// the values of before or after, or some of each; it never misses one that is in both, as it would if all were taken away
// first.
//
// Concurrency: safe; fill must not call Replace.
func (m *Metrics) Replace(gauge *prometheus.GaugeVec, fill func(set func(value float64, labels ...string))) {
	s := &m.shown
	s.mu.Lock()
	defer s.mu.Unlock()
	now := map[string][]string{}
	fill(func(value float64, labels ...string) {
		gauge.WithLabelValues(labels...).Set(value)
		now[strings.Join(labels, "\x00")] = labels
	})
	for key, labels := range s.labels[gauge] {
		if _, stays := now[key]; !stays {
			gauge.DeleteLabelValues(labels...)
		}
	}
	if s.labels == nil {
		s.labels = map[*prometheus.GaugeVec]map[string][]string{}
	}
	s.labels[gauge] = now
}

// The kinds whose objects have series by their name, as the label is called that has it.
const (
	LabelNodePool  = "nodepool"
	LabelNodeClass = "nodeclass"
)

// objectLabels are the labels of objects that name one of another kind, by the label of Kerf's metrics for that kind.
var objectLabels = map[string]string{LabelNodePool: "karpenter.sh/nodepool", LabelNodeClass: "karpenter.k8s.aws/ec2nodeclass"}

// Forget takes away the series of an object that is gone: those of all metrics in which label, LabelNodePool or LabelNodeClass, has
// the value name, and those of conditions and ends of objects that had it as a label of their own (Kind.Labels).
//
// Concurrency: safe. Its cost is that of going through all series.
func (m *Metrics) Forget(label, name string) {
	also := metricLabel(objectLabels[label])
	for _, v := range *m.vectors {
		v.DeletePartialMatch(prometheus.Labels{label: name})
		if also != "" {
			v.DeletePartialMatch(prometheus.Labels{also: name})
		}
	}
}

// OnRead is a gauge whose values are worked out when somebody reads it. It is for those that have thousands of values and
// are replaced as a whole.
type OnRead struct {
	*prometheus.GaugeVec
	pending atomic.Pointer[func()]
}

// Collect implements prometheus.Collector.
func (g *OnRead) Collect(to chan<- prometheus.Metric) {
	if fill := g.pending.Swap(nil); fill != nil {
		(*fill)()
	}
	g.GaugeVec.Collect(to)
}

// ReplaceOnRead is Replace when the gauge is next read. What fill refers to is kept until then.
//
// Concurrency: safe; fill is called at most once, at any time, by whoever reads.
func (m *Metrics) ReplaceOnRead(gauge *OnRead, fill func(set func(value float64, labels ...string))) {
	gauge.pending.Store(new(func() { m.Replace(gauge.GaugeVec, fill) }))
}
