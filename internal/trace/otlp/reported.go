package otlp

import (
	"context"
	"log/slog"
	"sync"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// reported says once that the collector does not take spans, and once that it does again. The spans that it did not take are
// dropped: keeping them would fill memory for as long as it is away.
type reported struct {
	sdktrace.SpanExporter
	to  string
	log *slog.Logger

	mu      sync.Mutex
	away    bool
	dropped int
}

// ExportSpans implements sdktrace.SpanExporter.
func (r *reported) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := r.SpanExporter.ExportSpans(ctx, spans)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err != nil:
		if !r.away {
			r.log.Warn("the collector takes no traces: they are dropped until it does; nothing else is affected", "to", r.to, "error", err)
		}
		r.away = true
		r.dropped += len(spans)
	case r.away:
		r.log.Info("the collector takes traces again", "to", r.to, "dropped-spans", r.dropped)
		r.away, r.dropped = false, 0
	}
	return nil
}
