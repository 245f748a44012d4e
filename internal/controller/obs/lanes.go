package obs

import (
	"context"
	"fmt"
	"hash/fnv"

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
	casters   [lanes]record.EventBroadcaster
	recorders [lanes]record.EventRecorder
}

// NewLanes makes lanes to sink for a component. They end with Start's context.
func NewLanes(sink record.EventSink, scheme *runtime.Scheme, component string) *Lanes {
	l := &Lanes{}
	for i := range l.casters {
		l.casters[i] = record.NewBroadcaster()
		l.casters[i].StartRecordingToSink(sink)
		l.recorders[i] = l.casters[i].NewRecorder(scheme, corev1.EventSource{Component: component})
	}
	return l
}

// Start waits for the end of ctx. Events that are recorded later are dropped.
func (l *Lanes) Start(ctx context.Context) error {
	<-ctx.Done()
	for _, c := range l.casters {
		c.Shutdown()
	}
	return nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: a process that waits for its election says things too.
func (l *Lanes) NeedLeaderElection() bool { return false }

// Event records an event on the object's lane.
func (l *Lanes) Event(object runtime.Object, eventType, reason, message string) {
	l.of(object).Event(object, eventType, reason, message)
}

// Eventf is Event with a format.
func (l *Lanes) Eventf(object runtime.Object, eventType, reason, format string, args ...any) {
	l.Event(object, eventType, reason, fmt.Sprintf(format, args...))
}

// AnnotatedEventf is Eventf with annotations on the event.
func (l *Lanes) AnnotatedEventf(object runtime.Object, annotations map[string]string, eventType, reason, format string, args ...any) {
	l.of(object).AnnotatedEventf(object, annotations, eventType, reason, "%s", fmt.Sprintf(format, args...))
}

// of is the lane of an object, the same in each process and on each run.
func (l *Lanes) of(object runtime.Object) record.EventRecorder {
	hash := fnv.New32a()
	if m, err := meta.Accessor(object); err == nil {
		_, _ = hash.Write([]byte(m.GetNamespace() + "/" + m.GetName()))
	}
	return l.recorders[hash.Sum32()%lanes]
}
