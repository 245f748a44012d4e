package stories_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	promconfig "github.com/prometheus/common/config"
	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/discovery/targetgroup"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/scrape"
	"github.com/prometheus/prometheus/tsdb"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/kerf-sh/kerf/internal/sim/simcluster"
)

const (
	job      = "karpenter" // as the chart's ServiceMonitor has it
	interval = 30 * time.Second
	// ruleFile is the one that the chart ships.
	ruleFile = "../../charts/kerf/files/monitoring/alerts.yaml"
)

// TestMain asks no name server: Prometheus looks its own name up, from where one answers in real time only.
func TestMain(m *testing.M) {
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("there is no name server here")
	}}
	_, _ = net.LookupIP("here.invalid") // what the resolver keeps for the whole process belongs to no bubble
	os.Exit(m.Run())
}

// monitor is a Prometheus that lives in a cluster's virtual time: it scrapes the replicas of the controller over the cluster's network, as
// the chart's ServiceMonitor has them scraped, and evaluates the rules of the chart.
type monitor struct {
	h      *simcluster.Cluster
	db     *tsdb.DB
	engine *promql.Engine
	rules  *rules.Manager

	mu    sync.Mutex
	fired map[string]time.Time // alerts that have fired, and when first
	said  map[string]string    // what they said
}

// watch starts it. It ends with the cluster.
func watch(h *simcluster.Cluster, replicas ...func() prometheus.Gatherer) *monitor {
	h.T.Helper()
	t := h.T
	m := &monitor{h: h, fired: map[string]time.Time{}, said: map[string]string{}}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var err error
	o := tsdb.DefaultOptions()
	o.MinBlockDuration, o.MaxBlockDuration = int64(48*time.Hour/time.Millisecond), int64(48*time.Hour/time.Millisecond)
	m.db, err = tsdb.Open(t.TempDir(), promslog.NewNopLogger(), nil, o, nil)
	must(err)
	t.Cleanup(func() { must(m.db.Close()) })
	m.engine = promql.NewEngine(promql.EngineOpts{MaxSamples: 50_000_000, Timeout: time.Hour, EnableAtModifier: true, EnableNegativeOffset: true, LookbackDelta: 5 * time.Minute})

	// Where it scrapes.
	targets := &targetgroup.Group{Source: job}
	for i, replica := range replicas {
		address := fmt.Sprintf("replica-%d:8080", i)
		h.Serve(address, served(replica))
		targets.Targets = append(targets.Targets, model.LabelSet{model.AddressLabel: model.LabelValue(address), "pod": model.LabelValue(fmt.Sprintf("karpenter-%d", i)), "namespace": "kube-system"})
	}
	scrapes, err := scrape.NewManager(&scrape.Options{DiscoveryReloadOnStartup: true, HTTPClientOptions: []promconfig.HTTPClientOption{promconfig.WithDialContextFunc(h.Network.Dial)}},
		slog.New(slog.DiscardHandler), nil, m.db, nil, prometheus.NewRegistry())
	must(err)
	c, err := config.Load(fmt.Sprintf("global: {scrape_interval: %[1]s, scrape_timeout: 10s, evaluation_interval: %[1]s}\nscrape_configs: [{job_name: %[2]s}]\n", model.Duration(interval), job), promslog.NewNopLogger())
	must(err)
	must(scrapes.ApplyConfig(c))
	found := make(chan map[string][]*targetgroup.Group, 1)
	found <- map[string][]*targetgroup.Group{job: {targets}}
	scraping := make(chan struct{})
	go func() {
		defer close(scraping)
		_ = scrapes.Run(found) // it ends when it is stopped
	}()
	t.Cleanup(func() { scrapes.Stop(); <-scraping })

	// What it evaluates.
	ctx, cancel := context.WithCancel(context.Background())
	m.rules = rules.NewManager(&rules.ManagerOptions{
		Context: ctx, ExternalURL: &url.URL{}, Appendable: m.db, Queryable: m.db, QueryFunc: rules.EngineQueryFunc(m.engine, m.db), NotifyFunc: m.notify,
		Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), OutageTolerance: time.Hour, ForGracePeriod: 10 * time.Minute, ResendDelay: time.Minute,
	})
	file, err := filepath.Abs(ruleFile)
	must(err)
	must(m.rules.Update(interval, []string{file}, labels.EmptyLabels(), "", nil))
	evaluating := make(chan struct{})
	go func() {
		defer close(evaluating)
		m.rules.Run()
	}()
	t.Cleanup(func() { cancel(); m.rules.Stop(); <-evaluating })
	return m
}

// served are the metrics of a replica, while there are any. Those of controller-runtime are the whole process's.
func served(replica func() prometheus.Gatherer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g := replica()
		if g == nil {
			http.Error(w, "nothing runs here", http.StatusBadGateway)
			return
		}
		promhttp.HandlerFor(prometheus.Gatherers{g, ctrlmetrics.Registry}, promhttp.HandlerOpts{}).ServeHTTP(w, r)
	})
}

// notify hears of alerts as Alertmanager would.
func (m *monitor) notify(_ context.Context, _ string, alerts ...*rules.Alert) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, a := range alerts {
		name := a.Labels.Get(labels.AlertName)
		if _, ok := m.fired[name]; !ok && a.State == rules.StateFiring {
			m.fired[name] = time.Now()
			m.said[name] = a.Annotations.Get("summary")
		}
	}
}

// alerts are the names of the alerts that have fired so far.
func (m *monitor) alerts() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []string
	for name := range m.fired {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// firing are the names of the alerts that fire now.
func (m *monitor) firing() []string {
	var out []string
	for _, r := range m.rules.AlertingRules() {
		if r.State() == rules.StateFiring {
			out = append(out, r.Name())
		}
	}
	return out
}

// summary is what an alert said when it fired first; empty if it has not.
func (m *monitor) summary(name string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.said[name]
}

// awaits waits until an alert fires.
func (m *monitor) awaits(timeout time.Duration, name string) {
	m.h.T.Helper()
	m.h.Eventually(timeout, name+" fires", func() (bool, string) {
		alerts := m.alerts()
		return slices.Contains(alerts, name), "fired have: " + strings.Join(alerts, ", ")
	})
}

// evaluated fails for each rule that could not be evaluated.
func (m *monitor) evaluated() {
	m.h.T.Helper()
	all := m.rules.AlertingRules()
	if len(all) == 0 {
		m.h.T.Error("there are no rules")
	}
	for _, r := range all {
		if r.Health() != rules.HealthGood {
			m.h.T.Errorf("%s: %s: %v", r.Name(), r.Health(), r.LastError())
		}
	}
}

// has tells whether a query gives data at some moment since the beginning.
func (m *monitor) has(query string) (bool, error) {
	q, err := m.engine.NewRangeQuery(m.h.T.Context(), m.db, nil, query, time.UnixMilli(m.db.Head().MinTime()), time.Now(), time.Minute)
	if err != nil {
		return false, err
	}
	defer q.Close()
	r := q.Exec(m.h.T.Context())
	if r.Err != nil {
		return false, r.Err
	}
	matrix, err := r.Matrix()
	if err != nil {
		return false, err
	}
	for _, s := range matrix {
		for _, p := range s.Floats {
			if !math.IsNaN(p.F) { // as a quantile of nothing is
				return true, nil
			}
		}
	}
	return false, nil
}

// value is what a query for one number gives now.
func (m *monitor) value(query string) float64 {
	m.h.T.Helper()
	q, err := m.engine.NewInstantQuery(m.h.T.Context(), m.db, nil, query, time.Now())
	if err != nil {
		m.h.T.Fatal(err)
	}
	defer q.Close()
	v, err := q.Exec(m.h.T.Context()).Vector()
	if err != nil || len(v) != 1 {
		m.h.T.Fatalf("%s gives %v: %v", query, v, err)
	}
	return v[0].F
}
