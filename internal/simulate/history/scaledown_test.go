package history_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/simulate/history"
	"github.com/kerf-sh/kerf/internal/simulate/workload"
)

// eventList is a list of Events as kubectl writes it.
type eventList []string

// add adds an Event of the namespace shop; at is the minute and second of the hour.
func (e *eventList) add(at, kind, name, reason, message string) {
	*e = append(*e, fmt.Sprintf(`{"kind":"Event","apiVersion":"v1","involvedObject":{"kind":%q,"namespace":"shop","name":%q},"reason":%q,"message":%q,"firstTimestamp":%q,"lastTimestamp":%[5]q}`,
		kind, name, reason, message, "2026-11-20T10:"+at+"Z"))
}

func (e *eventList) read(t *testing.T) *workload.Workload {
	t.Helper()
	path := filepath.Join(t.TempDir(), "events.json")
	if err := os.WriteFile(path, []byte(`{"kind":"List","apiVersion":"v1","items":[`+strings.Join(*e, ",")+`]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	w, _, err := history.Read([]string{path})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// No Event says that the pods went: that of the Deployment does.
func TestScaleDownsEndPods(t *testing.T) {
	e := &eventList{}
	for i := range 4 {
		e.add("00:01", "ReplicaSet", "web-fc9577c78", "SuccessfulCreate", fmt.Sprintf("Created pod: web-fc9577c78-2t9x%d", i+2))
	}
	e.add("10:00", "Deployment", "web", "ScalingReplicaSet", "Scaled down replica set web-fc9577c78 from 4 to 1")
	w := e.read(t)
	if last := w.Steps[len(w.Steps)-1]; w.Peak(0) != 4 || last.Replicas != 1 {
		t.Errorf("at most %d, at the end %+v", w.Peak(0), last)
	}
}

// Events are of whole seconds, and kubectl lists them by their names: a Deployment may get larger and smaller within one second, in
// any order of the file, and a pod may be heard of in the second after.
func TestAScaleDownInTheSecondOfTheCreation(t *testing.T) {
	const up, down = "Scaled up replica set web-fc9577c78 from 0 to 4", "Scaled down replica set web-fc9577c78 from 4 to 1"
	for name, tt := range map[string]struct {
		order     []string
		pods      bool
		scheduled string // when, as the scheduler's Events say it
	}{
		"in order":                       {order: []string{up, down}, pods: true},
		"in order of names":              {order: []string{down, up}, pods: true},
		"no pod is named":                {order: []string{down, up}},
		"with fractions by schedulers":   {order: []string{up, down}, pods: true, scheduled: "05:00.345678"},
		"heard of in the second after":   {order: []string{down, up}, pods: true, scheduled: "05:01"},
		"only the scale-down was listed": {order: []string{down}, pods: true},
	} {
		t.Run(name, func(t *testing.T) {
			e := &eventList{}
			e.add("00:00", "ReplicaSet", "other-fc9577c79", "SuccessfulCreate", "Created pod: other-fc9577c79-2t9x2")
			if tt.pods {
				for i := range 4 {
					e.add("05:00", "ReplicaSet", "web-fc9577c78", "SuccessfulCreate", fmt.Sprintf("Created pod: web-fc9577c78-2t9x%d", i+2))
					if tt.scheduled != "" {
						e.add(tt.scheduled, "Pod", fmt.Sprintf("web-fc9577c78-2t9x%d", i+2), "Scheduled", "Successfully assigned")
					}
				}
			}
			for _, message := range tt.order {
				e.add("05:00", "Deployment", "web", "ScalingReplicaSet", message)
			}
			e.add("10:00", "Pod", "other-fc9577c79-2t9x2", "Started", "Started container")
			last := map[string]int{}
			for _, s := range e.read(t).Steps {
				if s.At < 5*time.Minute && s.Workload == "shop/web" {
					t.Errorf("%+v is before anything was there", s)
				}
				last[s.Workload] = s.Replicas
			}
			if last["shop/web"] != 1 || last["shop/other"] != 1 {
				t.Errorf("at the end: %v", last)
			}
		})
	}
}
