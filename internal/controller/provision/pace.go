package provision

import (
	"math"
	"time"
)

// pace turns the time that a plan may be improved for into units of work, which are what the engine counts: a plan must
// not depend on how fast the computer is. The units are part of the problem, so that a recorded decision is replayed
// with those it was made with.
//
// How many units a second is worth is measured at each decision, in time that passes, not in time of the processor: on a
// busy machine a decision must not take longer, but be improved less.
//
// Concurrency: not safe; decisions are made one after the other.
type pace struct {
	most time.Duration
	now  func() time.Time

	rate  float64 // units per second, of late
	in    float64 // the same, as it is counted with
	began time.Time
}

const (
	// firstRate is what is assumed before anything is measured, in units per second: half of what one core of an AMD EPYC
	// of 2023 does.
	firstRate = 50e6
	// rateWeight is what a new measurement counts beside the ones before.
	rateWeight = 0.3
	// rateDrift is by how much the rate must have changed before it is counted with: the same problem should get the same
	// budget the next time, because then its plan is known.
	rateDrift = 0.3
	// shortest is the least time that measures anything.
	shortest = 2 * time.Millisecond
	// manyPods are worth all of the time, fewPods pods that wait alone are worth as if there were so many more.
	manyPods, fewPods = 2000, 50
)

func newPace(most time.Duration, now func() time.Time) *pace {
	return &pace{most: most, now: now, rate: firstRate, in: firstRate}
}

// work is the budget for a decision on so many pods; below 0, which is no improvement, when there is no time for any.
func (p *pace) work(pods int) int64 {
	share := min(1, float64(pods+fewPods)/manyPods)
	units := math.Floor(p.most.Seconds() * share * p.in)
	if units < 1 {
		return -1
	}
	return int64(min(units, 1<<53))
}

// begin notes that an improvement begins.
func (p *pace) begin() { p.began = p.now() }

// end notes that the decision is made, and that improving it took so many units.
func (p *pace) end(units int64) {
	if p.began.IsZero() || units <= 0 {
		return
	}
	took := p.now().Sub(p.began)
	p.began = time.Time{}
	if took < shortest {
		return
	}
	p.rate += rateWeight * (float64(units)/took.Seconds() - p.rate)
	if math.Abs(p.rate-p.in) > rateDrift*p.in {
		p.in = p.rate
	}
}
