// Package otlp sends spans to an OpenTelemetry collector, by the variables that the OpenTelemetry specification defines
// (OTEL_…). Without an endpoint there is no Tracer, and nothing is recorded.
package otlp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/kerf-sh/kerf/internal/trace"
)

// Variables that decide whether spans are sent, and how. The SDK reads the others (headers, certificates, time-outs, the
// sampler, the limits of the queue).
const (
	Endpoint       = "OTEL_EXPORTER_OTLP_ENDPOINT"
	TracesEndpoint = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	protocol       = "OTEL_EXPORTER_OTLP_PROTOCOL"
	tracesProtocol = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"
	exporters      = "OTEL_TRACES_EXPORTER"
	disabled       = "OTEL_SDK_DISABLED"
	sampler        = "OTEL_TRACES_SAMPLER"
	samplerArg     = "OTEL_TRACES_SAMPLER_ARG"
)

// stopWithin bounds how long the last spans may take when the process ends.
const stopWithin = 3 * time.Second

// Options of Start. Getenv and Log are required.
type Options struct {
	// Version, Cluster and Region describe who sends. OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES win over them.
	Version, Cluster, Region string
	// Getenv reads a variable of the process.
	Getenv func(string) string
	Log    *slog.Logger
	// Client takes the place of the one that the SDK makes from the variables, if set.
	Client *http.Client
}

// Start returns what records spans and sends them, and what ends that; a nil Tracer and no error where no endpoint is set. It
// asks the collector for nothing: one that is away is told by one line in the log, and no loop waits for it.
//
// Errors: a variable with a value that has no effect here, by name, and with what would have one.
func Start(ctx context.Context, o Options) (*trace.Tracer, func(), error) {
	none := func() {}
	on, err := wanted(o.Getenv)
	if err != nil || !on {
		return nil, none, err
	}
	var options []otlptracehttp.Option
	if o.Client != nil {
		options = append(options, otlptracehttp.WithHTTPClient(o.Client))
	}
	exporter, err := otlptracehttp.New(ctx, options...)
	if err != nil {
		return nil, none, fmt.Errorf("sending traces to %s: %w", where(o.Getenv), err)
	}
	from, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(identity(o)...), resource.WithFromEnv())
	if err != nil {
		return nil, none, fmt.Errorf("reading OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME: %w", err)
	}
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(&reported{SpanExporter: exporter, to: where(o.Getenv), log: o.Log}), // drops spans when its queue is full
		sdktrace.WithResource(from),
		sdktrace.WithIDGenerator(ids{}),
	)
	stop := func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
		defer cancel()
		_ = provider.Shutdown(ctx) // what the collector did not take is reported by the exporter
	}
	o.Log.Info("sending traces", "to", where(o.Getenv))
	return trace.New(provider), stop, nil
}

// identity is who sends, in the words of the semantic conventions for resources.
func identity(o Options) []attribute.KeyValue {
	out := []attribute.KeyValue{
		attribute.String("service.name", "kerf"), attribute.String("service.version", o.Version),
		attribute.String("cloud.provider", "aws"), attribute.String("k8s.cluster.name", o.Cluster),
	}
	if o.Region != "" {
		out = append(out, attribute.String("cloud.region", o.Region))
	}
	return out
}

// where is the address that spans go to, for messages: without what may be secret in it.
func where(getenv func(string) string) string {
	text := getenv(TracesEndpoint)
	if text == "" {
		text = getenv(Endpoint)
	}
	u, err := url.Parse(text)
	if err != nil {
		return text
	}
	return u.Redacted()
}

// wanted reports whether the variables ask for traces.
func wanted(getenv func(string) string) (bool, error) {
	if getenv(Endpoint) == "" && getenv(TracesEndpoint) == "" || strings.EqualFold(getenv(disabled), "true") {
		return false, nil
	}
	switch v := getenv(exporters); v {
	case "", "otlp":
	case "none":
		return false, nil
	default:
		return false, fmt.Errorf("%s=%q: want otlp or none; other exporters are not built in, and an OpenTelemetry collector has them", exporters, v)
	}
	return true, errors.Join(checkEndpoint(getenv, Endpoint), checkEndpoint(getenv, TracesEndpoint), checkProtocol(getenv), checkSampler(getenv))
}

func checkEndpoint(getenv func(string) string, name string) error {
	v := getenv(name)
	if v == "" {
		return nil
	}
	if u, err := url.Parse(v); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("%s=%q: want a URL such as http://otel-collector.observability:4318", name, v)
	}
	return nil
}

func checkProtocol(getenv func(string) string) error {
	name := tracesProtocol
	if getenv(name) == "" {
		name = protocol
	}
	switch v := getenv(name); v {
	case "", "http/protobuf":
		return nil
	default:
		return fmt.Errorf("%s=%q: Kerf sends OTLP as http/protobuf only; unset the variable and set the endpoint to the collector's HTTP port, 4318 as a rule", name, v)
	}
}

// samplers are those of the specification that the SDK has.
var samplers = []string{"always_on", "always_off", "traceidratio", "parentbased_always_on", "parentbased_always_off", "parentbased_traceidratio"}

// checkSampler refuses what the SDK would replace by its default in silence.
func checkSampler(getenv func(string) string) error {
	v := getenv(sampler)
	if v == "" {
		return nil
	}
	if !slices.Contains(samplers, v) {
		return fmt.Errorf("%s=%q: want one of %s", sampler, v, strings.Join(samplers, ", "))
	}
	arg := getenv(samplerArg)
	if arg == "" || !strings.HasSuffix(v, "ratio") {
		return nil
	}
	if share, err := strconv.ParseFloat(arg, 64); err != nil || !(share >= 0 && share <= 1) {
		return fmt.Errorf("%s=%q: want a share from 0 to 1, such as 0.1", samplerArg, arg)
	}
	return nil
}
