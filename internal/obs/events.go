package obs

import (
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"
)

// Recorder is an event recorder that drops an event which says the same of the same object within a window: an event is
// a write to the Kubernetes API, and the same sentence twice tells nobody anything.
//
// Concurrency: safe.
type Recorder struct {
	next   record.EventRecorder
	window time.Duration
	now    func() time.Time

	mu   sync.Mutex
	seen map[string]time.Time
}

// NewRecorder wraps next. The window is the least time between two equal events.
func NewRecorder(next record.EventRecorder, window time.Duration, now func() time.Time) *Recorder {
	return &Recorder{next: next, window: window, now: now, seen: map[string]time.Time{}}
}

// Event records an event unless an equal one was recorded within the window.
func (r *Recorder) Event(object runtime.Object, eventType, reason, message string) {
	if r.fresh(object, reason, message) {
		r.next.Event(object, eventType, reason, message)
	}
}

// Eventf is Event with a format.
func (r *Recorder) Eventf(object runtime.Object, eventType, reason, format string, args ...any) {
	r.Event(object, eventType, reason, fmt.Sprintf(format, args...))
}

// AnnotatedEventf is Eventf; annotations are not part of what makes two events equal.
func (r *Recorder) AnnotatedEventf(object runtime.Object, annotations map[string]string, eventType, reason, format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	if r.fresh(object, reason, message) {
		r.next.AnnotatedEventf(object, annotations, eventType, reason, "%s", message)
	}
}

func (r *Recorder) fresh(object runtime.Object, reason, message string) bool {
	key := reason + "\x00" + message
	if m, err := meta.Accessor(object); err == nil {
		key = string(m.GetUID()) + "\x00" + m.GetNamespace() + "/" + m.GetName() + "\x00" + key
	}
	now := r.now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if t, ok := r.seen[key]; ok && now.Sub(t) < r.window {
		return false
	}
	if len(r.seen) > 10_000 {
		for k, t := range r.seen {
			if now.Sub(t) >= r.window {
				delete(r.seen, k)
			}
		}
	}
	r.seen[key] = now
	return true
}
