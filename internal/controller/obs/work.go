package obs

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Work tells for how long the decisions that have not ended yet have been running: one that hangs is in no histogram of durations.
//
// Concurrency: safe.
type Work struct {
	now func() time.Time

	mu    sync.Mutex
	begun map[string]time.Time // by controller
}

// deciders are the controllers whose decisions are timed.
var deciders = []string{"provisioner", "disruption"}

func work(t table) *Work {
	w := &Work{now: time.Now, begun: map[string]time.Time{}}
	for _, controller := range deciders {
		add(t, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "karpenter_scheduler_unfinished_work_seconds", ConstLabels: prometheus.Labels{"controller": controller},
			Help: "How long the decision that is running has taken so far; 0 while none runs.",
		}, func() float64 { return w.running(controller).Seconds() }))
	}
	return w
}

// Begin notes that a controller begins to decide. The function that it returns notes the end.
func (w *Work) Begin(controller string) (end func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.begun[controller] = w.now()
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.begun, controller)
	}
}

func (w *Work) running(controller string) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if begun, ok := w.begun[controller]; ok {
		return w.now().Sub(begun)
	}
	return 0
}
