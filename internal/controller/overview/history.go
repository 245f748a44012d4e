package overview

import (
	"context"
	"reflect"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"

	"github.com/kerf-sh/kerf/internal/controller/events"
)

const (
	// sampleEvery is how often a point of the history is taken, historyMost for how many it is kept: a day.
	sampleEvery = time.Minute
	historyMost = 24 * 60
)

// history is a ring of points.
type history struct {
	points []Point
	serial uint64 // of the last point
}

func (h *history) add(p Point) {
	h.points = append(h.points, p)
	if over := len(h.points) - historyMost; over > 0 {
		h.points = slices.Delete(h.points, 0, over)
	}
	h.serial++
}

// since are the points after a serial number.
func (h *history) since(serial uint64) []Point {
	return slices.Clone(h.points[max(0, len(h.points)-int(min(h.serial-serial, historyMost))):])
}

// Start takes a point of the history each minute until ctx ends.
func (o *Overview) Start(ctx context.Context, c clock.WithTicker) {
	tick := c.NewTicker(sampleEvery)
	defer tick.Stop()
	o.sample(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C():
			o.sample(ctx)
		}
	}
}

func (o *Overview) sample(ctx context.Context) {
	o.refresh(ctx)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.look()
	bill := o.seen.bill
	if bill.Running == 0 && bill.Unpriced > 0 {
		return // prices are not read yet
	}
	without, coming := o.waitingPods()
	o.history.add(Point{
		At: o.seen.at.UTC(), Running: bill.Running, Worth: bill.Worth, Nodes: o.seen.sums.nodes, Pods: o.seen.sums.pods, Waiting: without + coming,
	})
}

// heard is a ring of events, oldest first.
type heard struct {
	mu     sync.Mutex
	events []Event
	serial uint64 // of the last
}

// heardMost is how many events are kept.
const heardMost = 300

// Heard takes in an event that the controller wrote.
func (o *Overview) Heard(object runtime.Object, eventType, reason, message string) {
	if o == nil {
		return
	}
	e := Event{At: o.from.Now().UTC(), Warning: eventType == corev1.EventTypeWarning, Interruption: events.OfInterruption(reason), Reason: reason, Message: message}
	if m, err := meta.Accessor(object); err == nil {
		e.Object = m.GetName()
		if m.GetNamespace() != "" {
			e.Object = m.GetNamespace() + "/" + e.Object
		}
	}
	e.Kind = kindOf(object)
	o.heard.mu.Lock()
	defer o.heard.mu.Unlock()
	o.heard.events = append(o.heard.events, e)
	o.heard.serial++
	if over := len(o.heard.events) - heardMost; over > 0 {
		o.heard.events = slices.Delete(o.heard.events, 0, over)
	}
}

// since are the events after a serial number, the newest first, and the serial number of the newest.
func (h *heard) since(serial uint64) ([]Event, uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	fresh := heardMost
	if serial <= h.serial {
		fresh = int(min(h.serial-serial, heardMost))
	}
	out := append([]Event{}, h.events[max(0, len(h.events)-fresh):]...)
	slices.Reverse(out)
	return out, h.serial
}

// kindOf is the kind of an object, which typed objects do not bear.
func kindOf(object runtime.Object) string {
	return reflect.Indirect(reflect.ValueOf(object)).Type().Name()
}
