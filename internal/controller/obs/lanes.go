package obs

import (
	"fmt"
	"hash/fnv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"
)

// lanes is how many events are written at a time. Of the 500 events of the end-to-end TestStories beside six busy loops the
// latest was written 41 s after it was said with one lane, 6 s with sixteen; that measurement would move it.
const lanes = 16

// Lanes writes events to the API server, several at a time. A broadcaster of client-go writes one after the other, each with
// a round trip, and drops what comes when 1,000 wait: where a hundred nodes are launched at once, or the server is slow, that is too
// late and too few. What is said of one object is written in the order in which it was said.
//
// Concurrency: safe.
type Lanes struct {
	sink      record.EventSink
	scheme    *runtime.Scheme
	component string

	mu    sync.Mutex
	ended bool
	of    [lanes]lane
}

// lane is made with its first event: a process that does not come to run leaves nothing behind.
type lane struct {
	caster   record.EventBroadcaster
	recorder record.EventRecorder
}

// objectBurst and objectQPS are how many events of an object are written at once, and a second after that. Recorder has taken out
// what repeats itself; client-go by itself lets 25 through and then one in five minutes, so that a node which can't be drained for an hour
// would not be told of the interruption that ends it.
const objectBurst, objectQPS = 250, 1

// laneRemembers is how many events a lane remembers in each of its three caches, so that one that comes again is counted on the event that
// is there: all lanes together remember as many as client-go does by itself (4,096, its default). Entries leave only when others come.
const laneRemembers = 4096 / lanes

// NewLanes makes lanes to sink for a component. They end with Stop.
func NewLanes(sink record.EventSink, scheme *runtime.Scheme, component string) *Lanes {
	return &Lanes{sink: sink, scheme: scheme, component: component}
}

// Stop ends the lanes. Events that are recorded later are dropped, so it comes after all who record some have ended.
func (l *Lanes) Stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	for i := range l.of {
		if c := l.of[i].caster; c != nil {
			c.Shutdown()
		}
	}
}

// Event records an event on the object's lane.
func (l *Lanes) Event(object runtime.Object, eventType, reason, message string) {
	l.lane(object).Event(object, eventType, reason, message)
}

// Eventf is Event with a format.
func (l *Lanes) Eventf(object runtime.Object, eventType, reason, format string, args ...any) {
	l.Event(object, eventType, reason, fmt.Sprintf(format, args...))
}

// AnnotatedEventf is Eventf with annotations on the event.
func (l *Lanes) AnnotatedEventf(object runtime.Object, annotations map[string]string, eventType, reason, format string, args ...any) {
	l.lane(object).AnnotatedEventf(object, annotations, eventType, reason, "%s", fmt.Sprintf(format, args...))
}

// lane is that of an object, the same in each process and on each run.
func (l *Lanes) lane(object runtime.Object) record.EventRecorder {
	hash := fnv.New32a()
	if m, err := meta.Accessor(object); err == nil {
		_, _ = hash.Write([]byte(m.GetNamespace() + "/" + m.GetName()))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return &record.FakeRecorder{} // it drops what it is told
	}
	of := &l.of[hash.Sum32()%lanes]
	if of.recorder == nil {
		of.caster = record.NewBroadcaster(record.WithCorrelatorOptions(record.CorrelatorOptions{LRUCacheSize: laneRemembers, BurstSize: objectBurst, QPS: objectQPS}))
		of.caster.StartRecordingToSink(l.sink)
		of.recorder = of.caster.NewRecorder(l.scheme, corev1.EventSource{Component: l.component})
	}
	return of.recorder
}
