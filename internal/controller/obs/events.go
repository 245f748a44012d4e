package obs

import (
	"fmt"
	"hash/maphash"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/tools/record"
)

// Recorder is an event recorder that drops an event which says the same of the same object within a window: an event is
// a write to the Kubernetes API, and the same sentence twice tells nobody anything.
//
// Concurrency: safe.
type Recorder struct {
	next   record.EventRecorder
	window time.Duration
	seed   maphash.Seed
	// Heard, if set, is told of each event that is recorded. It must not block, and is set before the first event.
	Heard func(object runtime.Object, eventType, reason, message string)

	mu   sync.Mutex // makes a look and what follows from it one step
	seen *cache.LRUExpireCache
}

// remembered is how many events are remembered: those of ten events a second for a quarter of an hour.
const remembered = 10_000

// timeOf gives an LRU cache its clock.
type timeOf func() time.Time

// Now implements the clock of the cache.
func (c timeOf) Now() time.Time { return c() }

// NewRecorder wraps next. The window is the least time between two equal events.
func NewRecorder(next record.EventRecorder, window time.Duration, now func() time.Time) *Recorder {
	return &Recorder{next: next, window: window, seed: maphash.MakeSeed(), seen: cache.NewLRUExpireCacheWithClock(remembered, timeOf(now))}
}

// Event records an event unless an equal one was recorded within the window.
func (r *Recorder) Event(object runtime.Object, eventType, reason, message string) {
	if r.fresh(object, reason, message) {
		r.tell(object, eventType, reason, message)
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
		r.tell(object, eventType, reason, message)
		r.next.AnnotatedEventf(object, annotations, eventType, reason, "%s", message)
	}
}

func (r *Recorder) tell(object runtime.Object, eventType, reason, message string) {
	if r.Heard != nil {
		r.Heard(object, eventType, reason, message)
	}
}

// fresh reports whether the event was not recorded within the window, and notes it. Its cost does not depend on how many are
// remembered; where there are more, the oldest are forgotten.
func (r *Recorder) fresh(object runtime.Object, reason, message string) bool {
	event := [5]string{"", "", "", reason, message}
	if m, err := meta.Accessor(object); err == nil {
		event[0], event[1], event[2] = string(m.GetUID()), m.GetNamespace(), m.GetName()
	}
	key := maphash.Comparable(r.seed, event)
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.seen.Get(key); known {
		return false
	}
	r.seen.Add(key, nil, r.window-time.Nanosecond) // it is kept through the last moment of its time
	return true
}
