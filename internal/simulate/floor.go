package simulate

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/bound"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/floor"
	"github.com/kerf-sh/kerf/internal/engine/pack"
)

// floors finds the floor of a run. Each part of the run, from one point of the series to the next, has one moment at which the floor is
// found: more of them would cost much of the time of a run. The seed draws it: moments at equal distances would meet jobs that come as
// regularly always or never.
//
// What pods ask for is known all the time, and the floor changes with it. So the moments tell by how much it does (a line of least
// squares), and the mean of the run is that of the moments, put right by how much more or less pods asked for on average than at the
// moments. Without that, the floor of jobs of a minute that come every five would be off by a third in two hours.
//
// Source: W. G. Cochran, Sampling Techniques, chapter 7, the linear regression estimator.
type floors struct {
	now    func() float64 // the floor of this moment in dollars per hour
	weight func() int64   // of the pods of this moment
	drawn  *rand.Rand
	every  time.Duration

	from  time.Time // when the part begins
	next  time.Time // its moment
	taken bool      // the moment has been
	last  float64   // the floor of the last moment
	// Of all moments: how many there were, the means of floor and weight, and how these vary, by Welford's method.
	count            float64
	least, weights   float64
	varies, together float64
}

// lineFrom is how many moments tell how the floor changes with what pods ask for.
const lineFrom = 5

func newFloors(s *Spec, now func() float64, weight func() int64) *floors {
	return &floors{now: now, weight: weight, drawn: rand.New(rand.NewPCG(s.Seed, 0x666c6f6f72)), every: s.sampling()}
}

// reset begins to count.
func (f *floors) reset(at time.Time) {
	f.count, f.least, f.weights, f.varies, f.together = 0, 0, 0, 0, 0
	f.last = f.now()
	f.begin(at)
}

func (f *floors) begin(from time.Time) {
	f.from, f.taken = from, false
	f.next = from.Add(time.Duration(f.drawn.Int64N(f.every.Milliseconds())) * time.Millisecond)
}

// at is called at each moment that due has named.
func (f *floors) at(now time.Time) {
	for !f.from.IsZero() { // something counts
		if !f.taken && !now.Before(f.next) {
			f.find()
		}
		end := f.from.Add(f.every)
		if now.Before(end) {
			return
		}
		f.begin(end)
	}
}

func (f *floors) find() {
	f.taken, f.last = true, f.now()
	f.count++
	x := float64(f.weight())
	off := x - f.weights
	f.weights += off / f.count
	f.least += (f.last - f.least) / f.count
	f.varies += off * (x - f.weights)
	f.together += off * (f.last - f.least)
}

// due is when at is to be called next, if that is before a moment.
func (f *floors) due(before time.Time) time.Time {
	at := f.next
	if f.taken {
		at = f.from.Add(f.every)
	}
	if f.from.IsZero() || before.Before(at) {
		return before
	}
	return at
}

// sum is the floor of a time, in dollars; area is the weight of the pods over it, times milliseconds.
func (f *floors) sum(of time.Duration, area int64) float64 {
	if f.count == 0 {
		f.find()
	}
	mean := f.least
	if f.count >= lineFrom && f.varies > 0 && of > 0 {
		mean += f.together / f.varies * (float64(area)/float64(of.Milliseconds()) - f.weights)
	}
	return max(mean, 0) * of.Hours()
}

// prover finds floors of the moment, and remembers the last one: objects of the engine are never changed, so that a problem of the same
// ones has the same floor.
type prover struct {
	problem func(context.Context) *pack.Problem
	nodes   []*cluster.Node
	types   [][]*catalog.Type // by pool
	least   float64
	memory  bound.Memory
}

// now is the floor of this moment in dollars per hour.
func (v *prover) now() float64 {
	p := v.problem(context.Background())
	if p == nil {
		return 0
	}
	types := make([][]*catalog.Type, len(p.Pools))
	for i := range p.Pools {
		types[i] = p.Pools[i].Types
	}
	if !slices.Equal(p.Nodes, v.nodes) || !slices.EqualFunc(types, v.types, slices.Equal) {
		v.nodes, v.types, v.least = p.Nodes, types, float64(floor.Bound(p, bound.Budget{Work: sharpness, Memory: &v.memory}))/1e6
	}
	return v.least
}

// above says how far a bill is above its floor, or below.
func (t *Totals) above() string {
	switch {
	case t.Distance == nil:
		return "no distance, for the floor is 0"
	case *t.Distance < 0:
		return value(-*t.Distance, "%") + " below it"
	}
	return value(*t.Distance, "%") + " above it"
}

// belowFloor warns of bills that are below their floors; empty where none is.
func belowFloor(runs []*Result) string {
	n := 0
	for _, r := range runs {
		if r.Totals.Distance != nil && *r.Totals.Distance < 0 {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	of := ""
	if len(runs) > 1 {
		of = fmt.Sprintf(" of %d of the %d seeds", n, len(runs))
	}
	return "the bill" + of + " is below the floor, which no bill can be: the floor is found at moments that are drawn, one in " + span(time.Duration(runs[0].SampleSeconds)*time.Second) +
		", and is estimated in between. A longer horizon has less of that"
}

// belowFloor warns of the configurations that it is true of.
func (c *Comparison) belowFloor() string {
	var runs []*Result
	for i := range c.Configurations {
		runs = append(runs, c.Configurations[i].Results...)
	}
	return belowFloor(runs)
}
