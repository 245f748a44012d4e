package app

import (
	"strconv"
	"time"

	"github.com/kerf-sh/kerf/internal/controller/apply"
	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/state/cache"
)

// meter turns what the provisioning loop tells into metrics.
type meter struct {
	m     *obs.Metrics
	state *cache.Cache
}

const provisioner = "provisioner"

// Begin has the depth of the queue for as long as the decision takes: afterwards nothing waits to be decided on.
func (m meter) Begin(pods int) (end func()) {
	depth, done := m.m.QueueDepth.WithLabelValues(provisioner), m.m.Work.Begin(provisioner)
	depth.Set(float64(pods))
	return func() {
		depth.Set(0)
		done()
	}
}

func (m meter) Decided(placed, unplaced []cluster.PodRef) { m.state.Decided(placed, unplaced) }

func (m meter) Solved(took time.Duration) {
	m.m.SchedulingDuration.WithLabelValues(provisioner).Observe(took.Seconds())
}

func (m meter) Unplaced(byReason map[plan.Code]int) {
	total := 0
	m.m.Replace(m.m.UnplacedPods, func(set func(float64, ...string)) {
		for code, n := range byReason {
			set(float64(n), string(code))
			total += n
		}
	})
	m.m.UnschedulablePods.WithLabelValues(provisioner).Set(float64(total))
}

func (m meter) Created(pool string, relaxed bool) {
	m.m.NodeClaimsCreated.WithLabelValues("provisioned", pool, strconv.FormatBool(relaxed)).Inc()
}

func (m meter) Refused(code apply.RefusalCode) {
	m.m.PlanRefused.WithLabelValues(string(code)).Inc()
}

func (m meter) Violated() { m.m.PlanViolation.Inc() }
