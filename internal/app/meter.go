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

func (m meter) Begin() (end func()) { return m.m.Work.Begin(provisioner) }

func (m meter) Decided(placed, unplaced []cluster.PodRef) { m.state.Decided(placed, unplaced) }

func (m meter) Solved(took time.Duration, pods int) {
	m.m.SchedulingDuration.WithLabelValues(provisioner).Observe(took.Seconds())
	m.m.QueueDepth.WithLabelValues(provisioner).Set(float64(pods))
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
