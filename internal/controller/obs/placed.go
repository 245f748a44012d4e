package obs

import (
	"strconv"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// Placed tells what the scheduler made of plans.
type Placed struct {
	pods  *prometheus.CounterVec
	ratio *prometheus.GaugeVec
	mu    *sync.Mutex
	last  map[string]*lastPlaced // by decision
}

// lastMost is over how many pods the ratio is taken: as many as a large burst.
const lastMost = 1000

// lastPlaced is the last results of one decision.
type lastPlaced struct {
	results []bool // a ring once it is full
	next    int
	planned int // how many of them are true
}

func (l *lastPlaced) note(asPlanned bool) (ratio float64) {
	if len(l.results) < lastMost {
		l.results = append(l.results, false)
		l.next = len(l.results) - 1
	}
	if l.results[l.next] {
		l.planned--
	}
	if l.results[l.next] = asPlanned; asPlanned {
		l.planned++
	}
	l.next = (l.next + 1) % lastMost
	return float64(l.planned) / float64(len(l.results))
}

func placed(t table) Placed {
	return Placed{
		pods:  t.counter("kerf_pods_placed_total", "Pods that were bound after a decision had given them a place, by the decision (provisioning or disruption) and whether they, or identical pods, are where the decision placed them.", "decision", "as_planned"),
		ratio: t.gauge("kerf_placement_as_planned_ratio", "Share of the last 1,000 of these pods that are where the decision placed them. Absent before the first.", "decision"),
		mu:    new(sync.Mutex), last: map[string]*lastPlaced{"provisioning": {}, "disruption": {}},
	}
}

// Note counts a pod that was bound. Concurrency: safe.
func (p Placed) Note(disruption, asPlanned bool) {
	decision := "provisioning"
	if disruption {
		decision = "disruption"
	}
	p.pods.WithLabelValues(decision, strconv.FormatBool(asPlanned)).Inc()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ratio.WithLabelValues(decision).Set(p.last[decision].note(asPlanned))
}
