package obs

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
)

func TestRecoverCountsAndNamesThePanic(t *testing.T) {
	m := NewMetrics(prometheus.NewRegistry())
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	err := m.Recover(log, "nodeclass", func() error { var p *corev1.Pod; _ = p.Name; return nil })
	if err == nil || !strings.Contains(err.Error(), "nodeclass: panic") {
		t.Errorf("got %v", err)
	}
	if n := testutil.ToFloat64(m.Panics.WithLabelValues("nodeclass")); n != 1 {
		t.Errorf("counted %v panics, want 1", n)
	}
	want := errors.New("x")
	if err := m.Recover(log, "a", func() error { return want }); !errors.Is(err, want) {
		t.Errorf("an ordinary error came back as %v", err)
	}
}

func TestRecorderDropsOnlyEqualEventsWithinTheWindow(t *testing.T) {
	fake := record.NewFakeRecorder(10)
	now := time.Unix(0, 0)
	r := NewRecorder(fake, 2*time.Minute, func() time.Time { return now })
	a := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "a", UID: "1"}}
	b := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "b", UID: "2"}}
	r.Event(a, "Normal", "Nominated", "goes to n1")
	r.Event(a, "Normal", "Nominated", "goes to n1") // dropped
	r.Event(a, "Normal", "Nominated", "goes to n2")
	r.Eventf(b, "Normal", "Nominated", "goes to %s", "n1")
	now = now.Add(2 * time.Minute)
	r.AnnotatedEventf(a, nil, "Normal", "Nominated", "goes to %s", "n1")
	if got := len(fake.Events); got != 4 {
		t.Errorf("recorded %d events, want 4", got)
	}
}

// However many events there are, so many are remembered, and one of them costs the same.
func TestRecorderRemembersSoManyEvents(t *testing.T) {
	now := time.Unix(0, 0)
	fake := &record.FakeRecorder{}
	r := NewRecorder(fake, 2*time.Minute, func() time.Time { return now })
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "a", UID: "1"}}
	for i := range 10 * remembered {
		r.Eventf(pod, "Normal", "Nominated", "goes to n%d", i)
	}
	if n := len(r.seen.Keys()); n > remembered {
		t.Errorf("%d events are remembered, want at most %d", n, remembered)
	}
	if r.fresh(pod, "Nominated", fmt.Sprintf("goes to n%d", 10*remembered-1)) {
		t.Error("the last event is forgotten")
	}
}

func TestLoggerNamesTheFileItCannotOpen(t *testing.T) {
	if _, err := NewLogger(LogOptions{Paths: "/nonexistent/dir/log"}); err == nil || !strings.Contains(err.Error(), "LOG_OUTPUT_PATHS") {
		t.Errorf("got %v", err)
	}
}
