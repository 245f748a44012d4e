package truth

import (
	"math"
	"time"
)

// every is how far the points of what was played lie apart, as in a simulation of this length.
const every = 10 * time.Second

// Played is what a story came to.
type Played struct {
	Points   []Point
	Launches int
	// Waits are how many seconds pods waited from their creation until they ran.
	P50, P95 float64
}

// Point is a moment.
type Point struct {
	At      time.Duration
	Bill    float64 // dollars per hour, of the instances that run
	Nodes   int     // instances that run or are on their way
	Running int     // pods
}

// Mean of the bill in dollars per hour, and of the nodes.
func (p *Played) Mean() (bill, nodes float64) {
	for i := range p.Points {
		bill += p.Points[i].Bill
		nodes += float64(p.Points[i].Nodes)
	}
	n := float64(max(1, len(p.Points)))
	return bill / n, nodes / n
}

// Apart is how far the bills of two runs of a story are apart over time: the mean of the distance, as a part of the mean bill of the
// first. Points are compared with the nearest within a tolerance of the other: what both do, one some seconds later, is no difference.
func Apart(a, b *Played, tolerance time.Duration, of func(Point) float64) float64 {
	var sum, all float64
	for _, p := range a.Points {
		nearest := math.Inf(1)
		for _, q := range b.Points {
			if d := p.At - q.At; -tolerance <= d && d <= tolerance {
				nearest = min(nearest, math.Abs(of(p)-of(q)))
			}
		}
		if !math.IsInf(nearest, 1) {
			sum += nearest
		}
		all += of(p)
	}
	if all == 0 {
		return 0
	}
	return sum / all
}
