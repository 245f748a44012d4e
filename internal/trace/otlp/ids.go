package otlp

import (
	"context"
	"math/rand/v2"

	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/kerf-sh/kerf/internal/trace"
)

// ids makes the IDs of spans, and of a trace out of the decision that it belongs to (trace.TraceID).
type ids struct{}

// NewIDs is for a span without a parent.
func (ids) NewIDs(ctx context.Context) (oteltrace.TraceID, oteltrace.SpanID) {
	id, ok := trace.TraceID(trace.IDOf(ctx))
	for !ok {
		for i := range id {
			id[i] = byte(rand.Uint32())
		}
		ok = id.IsValid()
	}
	return id, span()
}

// NewSpanID is for a span with a parent.
func (ids) NewSpanID(context.Context, oteltrace.TraceID) oteltrace.SpanID { return span() }

func span() (id oteltrace.SpanID) {
	for !id.IsValid() {
		for i := range id {
			id[i] = byte(rand.Uint32())
		}
	}
	return id
}
