package obs

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
)

// slowSink keeps what is written; it does not answer for one object until it is let.
type slowSink struct {
	slow    string
	let     chan struct{}
	written chan *corev1.Event
}

func (s *slowSink) Create(e *corev1.Event) (*corev1.Event, error) {
	if e.InvolvedObject.Name == s.slow {
		<-s.let
	}
	s.written <- e
	return e, nil
}
func (s *slowSink) Update(e *corev1.Event) (*corev1.Event, error)          { return s.Create(e) }
func (s *slowSink) Patch(e *corev1.Event, _ []byte) (*corev1.Event, error) { return s.Create(e) }

func TestLanes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const objects, each = 100, 5
		sink := &slowSink{slow: "pod-0", let: make(chan struct{}), written: make(chan *corev1.Event, objects*each)}
		l := NewLanes(sink, clientgoscheme.Scheme, "karpenter")
		for n := range each {
			for i := range objects {
				l.Eventf(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: fmt.Sprint("pod-", i)}}, corev1.EventTypeWarning, fmt.Sprint("Reason", n), "said for the time %d", n)
			}
			synctest.Wait()
		}
		// One lane of the sixteen waits for the answer about its first object, which no other has to.
		if got, least := len(sink.written), objects*each*8/10; got < least || got == objects*each {
			t.Errorf("%d events of %d were written beside one that takes its time", got, objects*each)
		}
		close(sink.let)
		synctest.Wait()
		said := map[string][]string{}
		for len(sink.written) > 0 {
			e := <-sink.written
			said[e.InvolvedObject.Name] = append(said[e.InvolvedObject.Name], e.Reason)
		}
		for i := range objects {
			if got := said[fmt.Sprint("pod-", i)]; len(got) != each || !slices.IsSorted(got) {
				t.Errorf("of pod-%d was said %v", i, got)
			}
		}
		l.Stop()
	})
}

// TestAllIsToldOfOneObject, though client-go by itself would drop what comes after 25 events.
func TestAllIsToldOfOneObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const events = 2 * 25
		sink := &slowSink{let: make(chan struct{}), written: make(chan *corev1.Event, events)}
		l := NewLanes(sink, clientgoscheme.Scheme, "karpenter")
		for n := range events {
			l.Event(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, corev1.EventTypeWarning, fmt.Sprint("Reason", n), "said")
			synctest.Wait()
		}
		if got := len(sink.written); got != events {
			t.Errorf("%d of %d events were written", got, events)
		}
		l.Stop()
	})
}

// TestALaneForgets what was said more than laneRemembers events before: said again it is a new event. Until then it is counted.
func TestALaneForgets(t *testing.T) {
	for others, count := range map[int]int32{laneRemembers - 1: 2, laneRemembers: 1} {
		synctest.Test(t, func(t *testing.T) {
			sink := &slowSink{let: make(chan struct{}), written: make(chan *corev1.Event, 1)}
			l := NewLanes(sink, clientgoscheme.Scheme, "karpenter")
			say := func(name string) *corev1.Event {
				l.Event(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, corev1.EventTypeNormal, "Reason", "said")
				return <-sink.written
			}
			of := func(name string) any { return l.lane(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}) }
			say("first")
			for i, said := 0, 0; said < others; i++ {
				if name := fmt.Sprint("other-", i); of(name) == of("first") {
					say(name)
					said++
				}
			}
			if e := say("first"); e.Count != count {
				t.Errorf("after %d others of its lane an event counts %d, want %d", others, e.Count, count)
			}
			l.Stop()
		})
	}
}
