package statemetrics_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/controller/statemetrics"
)

// defined are the labels of the metrics that are defined in code, by name and type. What controller-runtime defines is held against the
// table where a controller runs (package simcluster).
func defined(t *testing.T) map[string][]string {
	t.Helper()
	descs := make(chan *prometheus.Desc, 1000)
	collectors := registered{}
	obs.NewMetrics(&collectors)
	out := map[string][]string{}
	for _, c := range collectors.all {
		kind := kindOf(t, c)
		c.Describe(descs)
		for len(descs) > 0 {
			name, labels := parse(t, (<-descs).String())
			out[name] = append([]string{kind}, labels...)
		}
	}
	for _, f := range statemetrics.Families() {
		labels := slices.Clone(f.Labels)
		if f.NodeLabels {
			labels = append(labels, statemetrics.NodeLabels()...)
		}
		slices.Sort(labels)
		out[f.Name] = append([]string{"gauge"}, labels...)
	}
	return out
}

// kindOf is the type of a metric.
func kindOf(t *testing.T, c prometheus.Collector) string {
	t.Helper()
	switch c := c.(type) {
	case *prometheus.CounterVec:
		return "counter"
	case *prometheus.GaugeVec:
		return "gauge"
	case *obs.OnRead:
		return "gauge"
	case *prometheus.HistogramVec:
		return "histogram"
	case *prometheus.SummaryVec:
		return "summary"
	case prometheus.Metric:
		var d dto.Metric
		if err := c.Write(&d); err != nil {
			t.Fatal(err)
		}
		switch {
		case d.Counter != nil:
			return "counter"
		case d.Gauge != nil:
			return "gauge"
		case d.Histogram != nil:
			return "histogram"
		case d.Summary != nil:
			return "summary"
		}
	}
	t.Fatalf("what is %T?", c)
	return ""
}

// registered keeps what is registered.
type registered struct{ all []prometheus.Collector }

func (r *registered) Register(c prometheus.Collector) error  { r.all = append(r.all, c); return nil }
func (r *registered) MustRegister(c ...prometheus.Collector) { r.all = append(r.all, c...) }
func (r *registered) Unregister(prometheus.Collector) bool   { return false }

// parse reads the text of a description: Desc{fqName: "x", help: "…", constLabels: {a="b"}, variableLabels: {c,d}}.
func parse(t *testing.T, text string) (name string, labels []string) {
	t.Helper()
	between := func(from, to string) string {
		_, rest, ok := strings.Cut(text, from)
		inner, _, ok2 := strings.Cut(rest, to)
		if !ok || !ok2 {
			t.Fatalf("can't read %s", text)
		}
		return inner
	}
	name = between(`fqName: "`, `"`)
	for _, one := range strings.Split(between("constLabels: {", "}"), ",") {
		if label, _, ok := strings.Cut(one, "="); ok {
			labels = append(labels, label)
		}
	}
	for _, label := range strings.Split(between("variableLabels: {", "}"), ",") {
		if label != "" {
			labels = append(labels, label)
		}
	}
	slices.Sort(labels)
	return name, labels
}

// library are the metrics that Kerf does not define itself.
func library(name string) bool {
	return strings.HasPrefix(name, "controller_runtime_") || strings.HasPrefix(name, "workqueue_") || strings.HasPrefix(name, "leader_election_")
}

// Dashboards and alerts that were made for Karpenter find its metrics under their names, with their types and labels.
func TestMetricsOfKarpenterAreServed(t *testing.T) {
	have, seen := defined(t), map[string]bool{}
	for _, m := range obs.Karpenter() {
		if seen[m.Name] {
			t.Errorf("%s is in the table twice", m.Name)
		}
		seen[m.Name] = true
		got, ok := have[m.Name]
		switch {
		case m.Served == obs.Never && m.Note == "":
			t.Errorf("%s is not served, and the table does not say why", m.Name)
		case m.Served == obs.Never && ok:
			t.Errorf("%s is served, and the table says that it is not", m.Name)
		case m.Served == obs.Never || library(m.Name):
		case !ok:
			t.Errorf("%s is not served", m.Name)
		default:
			labels := slices.Clone(m.Labels)
			if m.NodeLabels {
				labels = append(labels, statemetrics.NodeLabels()...)
			}
			slices.Sort(labels)
			if kind := got[0]; kind != m.Type {
				t.Errorf("%s is a %s, want a %s", m.Name, kind, m.Type)
			}
			if !slices.Equal(got[1:], labels) {
				t.Errorf("%s has the labels %q, want %q", m.Name, got[1:], labels)
			}
		}
	}
	if len(seen) < 130 {
		t.Errorf("the table has %d metrics only", len(seen))
	}
	for name := range have {
		if !seen[name] && !strings.HasPrefix(name, "kerf_") {
			t.Errorf("%s is neither Karpenter's nor named as one of Kerf's own", name)
		}
	}
}

// Who reads a help text may not know the words of the code.
func TestHelpTextsUsePlainWords(t *testing.T) {
	descs := make(chan *prometheus.Desc, 1000)
	collectors := registered{}
	obs.NewMetrics(&collectors)
	var texts []string
	for _, c := range collectors.all {
		c.Describe(descs)
		for len(descs) > 0 {
			texts = append(texts, (<-descs).String())
		}
	}
	for _, f := range statemetrics.Families() {
		texts = append(texts, f.Help)
	}
	for _, text := range texts {
		for _, word := range []string{" look", "Look", "machine", " may go", "to go.", "letting", "made to go", "promise", "mend", " buy", "bought", "in vain"} {
			if strings.Contains(text, word) {
				t.Errorf("%q in %s", word, text)
			}
		}
	}
}
