package simcluster_test

import (
	"encoding/hex"
	"io"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	collectorv1 "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonv1 "go.opentelemetry.io/proto/otlp/common/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/kerf-sh/kerf/internal/sim/simcluster"
	"github.com/kerf-sh/kerf/internal/trace"
	"github.com/kerf-sh/kerf/internal/trace/otlp"
)

const collectorAddress = "collector:4318"

// collector takes spans as an OpenTelemetry collector does, over OTLP/HTTP.
type collector struct {
	t     *testing.T
	mu    sync.Mutex
	away  bool
	asked int
	spans []*tracev1.Span
	from  map[string]string // attributes of the resource
}

// ServeHTTP implements http.Handler.
func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked++
	if c.away {
		http.Error(w, "no", http.StatusBadRequest)
		return
	}
	body, err := io.ReadAll(r.Body)
	var request collectorv1.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(body, &request)
	}
	if err != nil || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" {
		c.t.Errorf("%s %s: %v", r.URL.Path, r.Header.Get("Content-Type"), err)
	}
	for _, rs := range request.GetResourceSpans() {
		c.from = attributes(rs.GetResource().GetAttributes())
		for _, ss := range rs.GetScopeSpans() {
			c.spans = append(c.spans, ss.GetSpans()...)
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// start makes a tracer that sends to the collector, in the bubble, for all lives of the controller.
func (c *collector) start(h *simcluster.Cluster, log *slog.Logger) *trace.Tracer {
	h.T.Helper()
	h.Serve(collectorAddress, c)
	transport := &http.Transport{DialContext: h.Network.Dial}
	h.T.Cleanup(transport.CloseIdleConnections)
	tracer, stop, err := otlp.Start(h.T.Context(), otlp.Options{Version: "test", Cluster: simcluster.ClusterName, Getenv: os.Getenv, Log: log, Client: &http.Client{Transport: transport}})
	if err != nil || tracer == nil {
		h.T.Fatalf("%v, %v", tracer, err)
	}
	h.T.Cleanup(stop)
	return tracer
}

func attributes(list []*commonv1.KeyValue) map[string]string {
	out := map[string]string{}
	for _, kv := range list {
		out[kv.GetKey()] = kv.GetValue().GetStringValue()
	}
	return out
}

// named are the spans of a name.
func (c *collector) named(name string) []*tracev1.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(c.spans), func(s *tracev1.Span) bool { return s.GetName() != name })
}

// above are the names of a span and of all above it.
func (c *collector) above(s *tracev1.Span) []string {
	out := []string{s.GetName()}
	if len(s.GetParentSpanId()) == 0 {
		return out
	}
	for _, p := range c.spans {
		if string(p.GetSpanId()) == string(s.GetParentSpanId()) && string(p.GetTraceId()) == string(s.GetTraceId()) {
			return append(out, c.above(p)...)
		}
	}
	return append(out, "?")
}

func TestTracesTellTheWayOfPodsToNodesAndOfNodesAway(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+collectorAddress)
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=staging")
	c := &collector{t: t}
	var tracer *trace.Tracer
	one := func(h *simcluster.Cluster) *trace.Tracer {
		if tracer == nil {
			tracer = c.start(h, slog.New(slog.DiscardHandler))
		}
		return tracer
	}
	simcluster.Run(t, simcluster.Options{World: few, Trace: one}, func(h *simcluster.Cluster) {
		h.Apply(onDemand)
		h.Deploy("web", 6, "1", "1Gi")
		h.Running(2*time.Minute, "web", 6)
		h.Scale("web", 1)
		h.Eventually(20*time.Minute, "a disruption is under way", func() (bool, string) { return len(c.named("disruption.launch")) > 0, "" })
		h.Controller().Kill()
		<-h.Controller().Done()
		h.StartController()
		quietly(h, 15*time.Minute, 2000)
		h.Pass(2 * time.Minute)
	})
	for name, want := range map[string]struct{ above, attributes string }{
		"provision.batch":         {"provision", "kerf.decision.id"},
		"provision.snapshot":      {"provision", ""},
		"provision.solve":         {"provision", ""},
		"provision.verify":        {"provision", ""},
		"provision.apply":         {"provision", ""},
		"nodeclaim.create":        {"provision.apply|disruption.launch", "kerf.nodeclaim.name kerf.nodepool.name"},
		"nodeclaim.launch":        {"nodeclaim.create", "host.id host.type cloud.availability_zone kerf.launch.id"},
		"EC2/CreateFleet":         {"nodeclaim.launch", "rpc.system rpc.service rpc.method aws.request_id kerf.launch.id cloud.region"},
		"nodeclaim.register":      {"nodeclaim.create", "kerf.nodeclaim.name"},
		"nodeclaim.initialize":    {"nodeclaim.create", "k8s.node.name"},
		"disruption.mark":         {"disruption", "kerf.decision.id"},
		"disruption.launch":       {"disruption", ""},
		"disruption.replacements": {"disruption", "kerf.command.id"},
		"node.drain":              {"disruption", "k8s.node.name kerf.command.id"},
		"EC2/TerminateInstances":  {"disruption", ""},
		"instance.terminate":      {"disruption", "kerf.nodeclaim.name"},
	} {
		spans := c.named(name)
		if len(spans) == 0 {
			t.Errorf("there is no span %s", name)
		}
		for _, s := range spans {
			above := c.above(s)
			if root := above[len(above)-1]; root != "provision" && root != "disruption" {
				t.Errorf("%s is below %q, want provision or disruption at the end", name, above)
			}
			if len(above) < 2 || !slices.Contains(strings.Split(want.above, "|"), above[1]) {
				t.Errorf("%s is below %q, want %s", name, above[1:], want.above)
			}
			has := attributes(s.GetAttributes())
			for _, key := range strings.Fields(want.attributes) {
				if has[key] == "" {
					t.Errorf("%s has no %s: %v", name, key, has)
				}
			}
			if id := has["kerf.decision.id"]; hex.EncodeToString(s.GetTraceId()) != id+id {
				t.Errorf("%s: trace %x, decision %q", name, s.GetTraceId(), id)
			}
			if s.GetEndTimeUnixNano() < s.GetStartTimeUnixNano() {
				t.Errorf("%s ends before it begins", name)
			}
		}
	}
	linked := slices.ContainsFunc(c.named("disruption"), func(s *tracev1.Span) bool { return len(s.GetLinks()) > 0 })
	if !linked {
		t.Error("no disruption is linked with the trace that launched its node")
	}
	for key, want := range map[string]string{"service.name": "kerf", "k8s.cluster.name": simcluster.ClusterName, "deployment.environment.name": "staging"} {
		if c.from[key] != want {
			t.Errorf("resource: %s is %q, want %q", key, c.from[key], want)
		}
	}
}

func TestACollectorThatIsAwayIsToldOnceAndHoldsUpNothing(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://"+collectorAddress+"/v1/traces")
	t.Setenv("OTEL_SERVICE_NAME", "kerf-test")
	c := &collector{t: t, away: true}
	log := listen()
	simcluster.Run(t, simcluster.Options{World: few, Trace: func(h *simcluster.Cluster) *trace.Tracer { return c.start(h, slog.New(log)) }}, func(h *simcluster.Cluster) {
		h.Apply(onDemand)
		h.Deploy("web", 3, "1", "1Gi")
		h.Running(2*time.Minute, "web", 3)
		h.Pass(time.Minute)
		c.mu.Lock()
		c.away = false
		if c.asked < 2 {
			t.Errorf("the collector was asked %d times, want more than one", c.asked)
		}
		c.mu.Unlock()
		if said := log.with("collector takes no traces"); len(said) != 1 {
			t.Errorf("said %d times, want once: %q", len(said), said)
		}
		h.Deploy("api", 3, "1", "1Gi")
		h.Running(2*time.Minute, "api", 3)
		h.Pass(time.Minute)
		if said := log.with("collector takes traces again", "dropped-spans="); len(said) != 1 {
			t.Errorf("said %d times that it is back, want once", len(said))
		}
	})
	if c.from["service.name"] != "kerf-test" {
		t.Errorf("service.name is %q", c.from["service.name"])
	}
}
