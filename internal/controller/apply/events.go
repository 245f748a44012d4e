package apply

import (
	"fmt"
	"strings"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/events"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/plan"
)

const (
	// perClass is how many pods of an unplaced class are told; the rest look the same.
	perClass = 3
	// failedEvery and noTypesEvery are the least time between two events that say the same of one object.
	failedEvery  = 5 * time.Minute
	noTypesEvery = time.Minute
	// maxMessage is what the API takes.
	maxMessage = 1000
)

// announcer writes events within a budget: an event is a write to the API, and a burst of pods must not become a burst
// of writes. What is not written is in the decision's record and in the log.
type announcer struct {
	recorder  record.EventRecorder
	now       func() time.Time
	nominate  *rate.Limiter
	fail      *rate.Limiter
	said      map[string]time.Time
	saidSweep time.Time
}

func newAnnouncer(recorder record.EventRecorder, now func() time.Time) *announcer {
	return &announcer{
		recorder: recorder, now: now,
		nominate: rate.NewLimiter(5, 10), fail: rate.NewLimiter(5, 10),
		said: map[string]time.Time{},
	}
}

// nominated tells pods where they go, while the rate allows.
func (a *announcer) nominated(state State, pods []cluster.PodRef, target string) {
	for _, ref := range pods {
		if !a.nominate.AllowN(a.now(), 1) {
			return
		}
		if pod := state.Pod(ref); pod != nil {
			a.recorder.Eventf(pod, corev1.EventTypeNormal, events.Nominated, "Pod should schedule on: %s", target)
		}
	}
}

// unplaced tells the first pods of each class why they found no place.
func (a *announcer) unplaced(state State, list []plan.Unplaced) {
	for i := range list {
		u := &list[i]
		message := Explain(u.Reasons)
		for _, ref := range u.Pods[:min(perClass, len(u.Pods))] {
			if !a.due(ref.UID+codes(u.Reasons), failedEvery) {
				continue
			}
			pod := state.Pod(ref)
			if pod == nil || !a.fail.AllowN(a.now(), 1) {
				continue
			}
			a.say(ref.UID + codes(u.Reasons))
			a.recorder.Event(pod, corev1.EventTypeWarning, events.FailedScheduling, message)
		}
	}
}

func (a *announcer) noTypes(pool *karpv1.NodePool, detail string) {
	key := "pool/" + pool.Name
	if a.due(key, noTypesEvery) {
		a.say(key)
		a.recorder.Eventf(pool, corev1.EventTypeWarning, events.NoCompatibleInstanceTypes, "no instance type can be used: %s", detail)
	}
}

func (a *announcer) due(key string, every time.Duration) bool {
	at, ok := a.said[key]
	return !ok || a.now().Sub(at) >= every
}

func (a *announcer) say(key string) {
	now := a.now()
	a.said[key] = now
	if now.Sub(a.saidSweep) < failedEvery {
		return
	}
	a.saidSweep = now
	for k, at := range a.said {
		if now.Sub(at) >= failedEvery {
			delete(a.said, k)
		}
	}
}

func codes(reasons []plan.Reason) string {
	var b strings.Builder
	for _, r := range reasons {
		fmt.Fprintf(&b, "/%s:%s:%s", r.Pool, r.Code, r.Key)
	}
	return b.String()
}

// Explain words the reasons in one message that fits an event: the pools that came nearest to serving the pod first, and
// as many as fit.
func Explain(reasons []plan.Reason) string {
	text, left := "", len(reasons)
	for i, c := range plan.Summary(reasons) {
		part := c.Text
		if i > 0 {
			part = "; " + part
		}
		more := fmt.Sprintf("; and %d more", left)
		if i > 0 && len(text)+len(part)+len(more) > maxMessage {
			return text + more
		}
		text += part
		left -= c.Count
	}
	if len(text) > maxMessage {
		text = text[:maxMessage-3] + "..."
	}
	return text
}
