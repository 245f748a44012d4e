package trace

import (
	"context"
	"errors"
	"testing"
	"time"

	oteltrace "go.opentelemetry.io/otel/trace"
)

// off is all that a loop does with a Tracer.
func off(ctx context.Context, t *Tracer) {
	ctx, span := t.Start(t.Resume(ctx, "0123456789abcdef", ""), "nodeclaim.launch")
	span.Text(NodeClaim, "default-x7k2p")
	span.Int(Pods, 3)
	span.Fail(errFailed)
	_, call := t.Child(ctx, "EC2/CreateFleet", oteltrace.SpanKindClient)
	call.Text(RPCMethod, "CreateFleet")
	call.End()
	past := t.Past(ctx, "nodeclaim.register", time.Time{}, time.Time{})
	past.Link(span.Traceparent())
	past.End()
	span.End()
}

var errFailed = errors.New("it failed")

func TestNothingIsAllocatedWithoutACollector(t *testing.T) {
	ctx := t.Context()
	if n := testing.AllocsPerRun(1000, func() { off(ctx, nil) }); n != 0 {
		t.Errorf("a nil Tracer makes %v allocations for each launch, want none", n)
	}
}

func BenchmarkWithoutACollector(b *testing.B) {
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		off(ctx, nil)
	}
}

func TestTheTraceIDIsTheIDTwice(t *testing.T) {
	for id, want := range map[string]string{
		"0123456789abcdef": "0123456789abcdef0123456789abcdef",
		"0000000000000000": "", "0123": "", "": "", "0123456789abcdeg": "",
	} {
		got, ok := TraceID(id)
		if ok != (want != "") || ok && got.String() != want {
			t.Errorf("TraceID(%q) = %v, %v, want %q", id, got, ok, want)
		}
	}
}

func TestATraceparentThatCanNotBeReadIsNone(t *testing.T) {
	for _, text := range []string{"", "x", "00-00000000000000000000000000000000-0000000000000000-01", "00-0123456789abcdef0123456789abcdef-0123-01"} {
		if _, ok := parse(text); ok {
			t.Errorf("%q was read", text)
		}
	}
	const good = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01"
	if c, ok := parse(good); !ok || format(c) != good {
		t.Errorf("%q was read as %q, %v", good, format(c), ok)
	}
}
