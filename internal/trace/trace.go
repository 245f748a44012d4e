// Package trace is the port through which loops and the adapter to AWS record spans of OpenTelemetry. Package otlp below it
// sends them to a collector.
//
// A nil *Tracer and a nil *Span record nothing: whoever has no collector pays for a nil check, and for no allocation.
package trace

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	oteltrace "go.opentelemetry.io/otel/trace"
)

// Name is the instrumentation scope of the spans.
const Name = "github.com/kerf-sh/kerf"

// Tracer begins spans.
//
// Concurrency: safe.
type Tracer struct{ tracer oteltrace.Tracer }

// New returns a Tracer whose spans a provider takes.
func New(provider oteltrace.TracerProvider) *Tracer { return &Tracer{provider.Tracer(Name)} }

// Start begins a span below the one of ctx, or a trace of its own where ctx has none. The trace bears the ID of ctx then
// (see WithID).
func (t *Tracer) Start(ctx context.Context, name string) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	return t.start(ctx, name)
}

// StartAt is Start for a span that began earlier.
func (t *Tracer) StartAt(ctx context.Context, name string, at time.Time) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	return t.start(ctx, name, oteltrace.WithTimestamp(at))
}

// StartKind is Start for what another system has asked for, or is asked for.
func (t *Tracer) StartKind(ctx context.Context, name string, kind oteltrace.SpanKind) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	return t.start(ctx, name, oteltrace.WithSpanKind(kind))
}

// Child is StartKind where ctx has a span already, and nothing elsewhere: calls that no decision asked for would be traces of
// one span each.
func (t *Tracer) Child(ctx context.Context, name string, kind oteltrace.SpanKind) (context.Context, *Span) {
	if t == nil || !oteltrace.SpanContextFromContext(ctx).IsValid() {
		return ctx, nil
	}
	return t.start(ctx, name, oteltrace.WithSpanKind(kind))
}

// Past records a span that is over: from a time that an object tells until now. The caller sets attributes and calls End.
// A time of the API has whole seconds, so one after now is now.
func (t *Tracer) Past(ctx context.Context, name string, from, now time.Time) *Span {
	if t == nil {
		return nil
	}
	if from.After(now) || from.IsZero() {
		from = now
	}
	_, span := t.start(ctx, name, oteltrace.WithTimestamp(from))
	span.until = now
	return span
}

func (t *Tracer) start(ctx context.Context, name string, options ...oteltrace.SpanStartOption) (context.Context, *Span) {
	ctx, span := t.tracer.Start(ctx, name, options...)
	out := &Span{span: span}
	if id := IDOf(ctx); id != "" {
		out.Text(DecisionID, id)
	}
	return ctx, out
}

// Span is a span that has begun. End has to be called.
//
// Concurrency: safe.
type Span struct {
	span  oteltrace.Span
	until time.Time // when it ended; zero: when End is called
}

// Text sets an attribute, unless the value is empty.
func (s *Span) Text(key attribute.Key, value string) {
	if s != nil && value != "" {
		s.span.SetAttributes(key.String(value))
	}
}

// Int sets an attribute.
func (s *Span) Int(key attribute.Key, value int) {
	if s != nil {
		s.span.SetAttributes(key.Int(value))
	}
}

// Texts sets an attribute of several values.
func (s *Span) Texts(key attribute.Key, values []string) {
	if s != nil && len(values) > 0 {
		s.span.SetAttributes(key.StringSlice(values))
	}
}

// Fail says that what the span is about has failed; nil says nothing.
func (s *Span) Fail(err error) {
	if s != nil && err != nil {
		s.span.RecordError(err)
		s.span.SetStatus(codes.Error, err.Error())
	}
}

// Link joins the span with one that has another parent, by its traceparent; one that can't be read is left out.
func (s *Span) Link(traceparent string) {
	if s == nil {
		return
	}
	if other, ok := parse(traceparent); ok {
		s.span.AddLink(oteltrace.Link{SpanContext: other})
	}
}

// End ends the span.
func (s *Span) End() {
	switch {
	case s == nil:
	case s.until.IsZero():
		s.span.End()
	default:
		s.span.End(oteltrace.WithTimestamp(s.until))
	}
}

// Traceparent is the span as another process goes on from it (W3C Trace Context, header traceparent); empty for a nil Span.
func (s *Span) Traceparent() string {
	if s == nil {
		return ""
	}
	return format(s.span.SpanContext())
}
