package simcluster_test

import (
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/controller/statemetrics"
	"github.com/kerf-sh/kerf/internal/sim/simcluster"
)

// scrape reads the metrics of a controller as Prometheus does: over HTTP, as text. Those of controller-runtime are the whole process's.
func scrape(h *simcluster.Cluster, p *simcluster.Process) map[string]*dto.MetricFamily {
	h.T.Helper()
	l, err := h.Network.Listen("metrics:80")
	if err != nil {
		h.T.Fatal(err)
	}
	server := &http.Server{Handler: promhttp.HandlerFor(prometheus.Gatherers{p.Metrics, ctrlmetrics.Registry}, promhttp.HandlerOpts{}), ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(l) }()
	defer server.Close()
	transport := &http.Transport{DialContext: h.Network.Dial}
	defer transport.CloseIdleConnections()
	r, err := http.NewRequestWithContext(h.T.Context(), http.MethodGet, "http://metrics:80/metrics", nil)
	if err != nil {
		h.T.Fatal(err)
	}
	answer, err := transport.RoundTrip(r)
	if err != nil {
		h.T.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(answer.Body)
		h.T.Fatalf("%s: %s", answer.Status, text)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(answer.Body)
	if err != nil {
		h.T.Fatal(err)
	}
	return families
}

// unlike says in what a family differs from what is documented of it; empty if in nothing.
func unlike(f *dto.MetricFamily, m *obs.KarpenterMetric) string {
	if kind := strings.ToLower(f.GetType().String()); kind != m.Type {
		return "it is a " + kind + ", want a " + m.Type
	}
	known := slices.Clone(m.Labels)
	if m.NodeLabels {
		known = append(known, statemetrics.NodeLabels()...)
	}
	for _, series := range f.GetMetric() {
		for _, l := range series.GetLabel() {
			if !slices.Contains(known, l.GetName()) {
				return "it has the label " + l.GetName()
			}
		}
	}
	return ""
}

// limited has what some metrics are about: limits of a pool.
var limited = strings.Replace(onDemand, "  disruption:\n", "  limits: {cpu: 100}\n  disruption:\n", 1)

// withLimits is a DaemonSet whose pods have limits.
const withLimits = `
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: default}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec:
      containers:
      - {name: main, image: none, resources: {requests: {cpu: 100m, memory: 100Mi}, limits: {memory: 200Mi}}}
`

// What a controller of a small cluster serves after an hour is what Karpenter documents, and what is said of Kerf's own.
func TestScrapedMetricsAreThoseOfKarpenter(t *testing.T) {
	simcluster.Run(t, simcluster.Options{World: few}, func(h *simcluster.Cluster) {
		h.Apply(strings.Replace(limited, "KarpenterNodeRole-kerf", "Nobody", 1))
		h.Pass(time.Minute)
		h.Apply(limited)
		h.Apply(withLimits)
		h.Deploy("web", 3, "1", "1Gi")
		families := map[string]*dto.MetricFamily{}
		h.Eventually(time.Minute, "pods wait for an instance that starts", func() (bool, string) { return len(h.Instances()) > 0, "none" })
		maps.Copy(families, scrape(h, h.Controller()))
		h.Running(5*time.Minute, "web", 3)
		var claims karpv1.NodeClaimList
		if err := h.Client.List(h.T.Context(), &claims); err != nil {
			h.T.Fatal(err)
		}
		if err := h.Client.Delete(h.T.Context(), &claims.Items[0]); err != nil {
			h.T.Fatal(err)
		}
		h.Pass(10 * time.Minute)
		h.Running(5*time.Minute, "web", 3)
		h.Deploy("giant", 1, "10000", "1Gi")
		h.Pass(time.Minute)
		maps.Copy(families, scrape(h, h.Controller()))
		documented := map[string]bool{}
		for _, m := range obs.Karpenter() {
			documented[m.Name] = true
			f, ok := families[m.Name]
			switch {
			case ok && m.Served == obs.Never:
				h.T.Errorf("%s is served, and is said not to be", m.Name)
			case ok:
				if how := unlike(f, &m); how != "" {
					h.T.Errorf("%s is not what Karpenter documents: %s", m.Name, how)
				}
			case m.Served == obs.Always:
				h.T.Errorf("%s is not served", m.Name)
			}
		}
		for name := range families {
			if !documented[name] && !strings.HasPrefix(name, "kerf_") && !strings.HasPrefix(name, "go_") && !strings.HasPrefix(name, "process_") && !strings.HasPrefix(name, "rest_client_") &&
				!strings.HasPrefix(name, "controller_runtime_") && !strings.HasPrefix(name, "certwatcher_") {
				h.T.Errorf("%s is of nobody", name)
			}
		}
		for name, want := range map[string]float64{
			"karpenter_cluster_state_synced": 1, "karpenter_cluster_state_node_count": float64(len(h.Nodes())), "karpenter_scheduler_unschedulable_pods_count": 1, "kerf_oldest_drain_seconds": 0,
			"karpenter_pods_state": float64(len(h.Pods())), "karpenter_cluster_state_unsynced_time_seconds": 0,
		} {
			f := families[name]
			got := f.GetMetric()[0].GetGauge().GetValue()
			if name == "karpenter_pods_state" {
				got = float64(len(f.GetMetric()))
			}
			if got != want {
				h.T.Errorf("%s is %v, want %v", name, got, want)
			}
		}
		if age := families["kerf_oldest_pending_pod_seconds"].GetMetric()[0].GetGauge().GetValue(); age < 60 || age > 70 {
			h.T.Errorf("the oldest pending pod is %v s old, want a minute", age)
		}
		if cost := families["karpenter_nodepools_cost_total"].GetMetric()[0].GetGauge().GetValue(); cost <= 0 {
			h.T.Errorf("the nodes cost %v", cost)
		}
	})
}
