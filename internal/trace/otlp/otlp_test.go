package otlp

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/kerf-sh/kerf/internal/trace"
)

func TestVariables(t *testing.T) {
	const collector = "http://collector.observability:4318"
	for name, tc := range map[string]struct {
		env  map[string]string
		on   bool
		want []string // in the error; none: it succeeds
	}{
		"nothing is set":             {nil, false, nil},
		"an endpoint":                {map[string]string{Endpoint: collector}, true, nil},
		"one of traces only":         {map[string]string{TracesEndpoint: collector + "/v1/traces"}, true, nil},
		"switched off":               {map[string]string{Endpoint: collector, "OTEL_SDK_DISABLED": "true"}, false, nil},
		"no exporter":                {map[string]string{Endpoint: collector, "OTEL_TRACES_EXPORTER": "none"}, false, nil},
		"another exporter":           {map[string]string{Endpoint: collector, "OTEL_TRACES_EXPORTER": "zipkin"}, false, []string{`OTEL_TRACES_EXPORTER="zipkin"`, "otlp or none"}},
		"no address":                 {map[string]string{Endpoint: "collector:4318"}, false, []string{`OTEL_EXPORTER_OTLP_ENDPOINT="collector:4318"`, "want a URL"}},
		"the protocol that there is": {map[string]string{Endpoint: collector, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, true, nil},
		"grpc":                       {map[string]string{Endpoint: collector, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, false, []string{`OTEL_EXPORTER_OTLP_PROTOCOL="grpc"`, "http/protobuf only", "4318"}},
		"grpc for traces":            {map[string]string{Endpoint: collector, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "grpc"}, false, []string{`OTEL_EXPORTER_OTLP_TRACES_PROTOCOL="grpc"`}},
		"an unknown sampler":         {map[string]string{Endpoint: collector, "OTEL_TRACES_SAMPLER": "some"}, false, []string{`OTEL_TRACES_SAMPLER="some"`, "traceidratio"}},
		"a share of all":             {map[string]string{Endpoint: collector, "OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0.1"}, true, nil},
		"a share of too much":        {map[string]string{Endpoint: collector, "OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "10%"}, false, []string{`OTEL_TRACES_SAMPLER_ARG="10%"`, "0.1"}},
		"several mistakes":           {map[string]string{Endpoint: "x", "OTEL_TRACES_SAMPLER": "some"}, false, []string{Endpoint, "OTEL_TRACES_SAMPLER"}},
	} {
		t.Run(name, func(t *testing.T) {
			tracer, stop, err := Start(t.Context(), Options{Getenv: func(name string) string { return tc.env[name] }, Log: slog.New(slog.DiscardHandler)})
			defer stop()
			if (tracer != nil) != tc.on || (err != nil) != (len(tc.want) > 0) {
				t.Fatalf("tracer %v, error %v", tracer != nil, err)
			}
			for _, text := range tc.want {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("the error does not say %q: %v", text, err)
				}
			}
		})
	}
}

func TestTheAddressInMessagesHasNoPassword(t *testing.T) {
	if got := where(func(string) string { return "https://me:secret@collector:4318" }); strings.Contains(got, "secret") {
		t.Errorf("got %q", got)
	}
}

func TestADecisionIsATraceOfItsID(t *testing.T) {
	id, _ := ids{}.NewIDs(trace.WithID(context.Background(), "0123456789abcdef"))
	if got := id.String(); got != "0123456789abcdef0123456789abcdef" {
		t.Errorf("got %s", got)
	}
	for range 10 {
		if id, span := (ids{}).NewIDs(context.Background()); !id.IsValid() || !span.IsValid() {
			t.Error("an ID that is not valid")
		}
	}
}

var _ sdktrace.SpanExporter = (*reported)(nil)
