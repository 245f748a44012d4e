package trace

import (
	"context"
	"encoding/hex"

	"go.opentelemetry.io/otel/propagation"
	oteltrace "go.opentelemetry.io/otel/trace"
)

const header = "traceparent"

func format(c oteltrace.SpanContext) string {
	if !c.IsValid() {
		return ""
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(oteltrace.ContextWithSpanContext(context.Background(), c), carrier)
	return carrier[header]
}

func parse(traceparent string) (oteltrace.SpanContext, bool) {
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{header: traceparent})
	c := oteltrace.SpanContextFromContext(ctx)
	return c, c.IsValid()
}

// Resume goes on with the trace of an object that another process may have begun: by the traceparent that it bears, or, where
// it bears none, by its ID.
func (t *Tracer) Resume(ctx context.Context, id, traceparent string) context.Context {
	if t == nil {
		return ctx
	}
	ctx = WithID(ctx, id)
	if c, ok := parse(traceparent); ok {
		return oteltrace.ContextWithRemoteSpanContext(ctx, c)
	}
	return oteltrace.ContextWithSpanContext(ctx, oteltrace.SpanContext{})
}

type idKey struct{}

// WithID notes the ID of the decision that what is done with ctx belongs to. Log lines, objects and spans bear it.
func WithID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, idKey{}, id)
}

// IDOf is the ID that WithID noted; empty where there is none.
func IDOf(ctx context.Context) string {
	id, _ := ctx.Value(idKey{}).(string)
	return id
}

// TraceID is the trace of a decision: its ID written twice. Whoever has the ID from the log or from an object finds the trace,
// and a leader that knows nothing but the ID goes on with it. The lower half decides on sampling by ratio, so it has to be
// as random as the ID is. ok is false where the ID has another form than 16 hexadecimal digits.
func TraceID(id string) (out oteltrace.TraceID, ok bool) {
	raw, err := hex.DecodeString(id)
	if err != nil || len(raw) != len(out)/2 {
		return oteltrace.TraceID{}, false
	}
	copy(out[:], raw)
	copy(out[len(raw):], raw)
	return out, out.IsValid()
}
