package disrupt

import (
	"time"

	"github.com/kerf-sh/kerf/internal/cluster"
)

const (
	// leastHorizon is how long what a move brings is trusted to last in the youngest of clusters, mostHorizon in the oldest.
	leastHorizon, mostHorizon = 11*time.Minute + 15*time.Second, 24 * time.Hour
)

// horizon is within what time a move has to earn back what it costs: about as long as the nodes of this cluster have been
// there on average, each weighed by its price. Where machines come and go every few minutes, so will those that a move
// brings, and nothing is known of a cluster that has only begun; what has stood for a day is likely to stand for another.
//
// It grows in steps of two, so that decisions are not made anew for each second that passes.
func horizon(nodes []*cluster.Node, now time.Time) time.Duration {
	sum, weight := 0.0, 0.0
	for _, n := range nodes {
		if n.Claim == "" || n.CreatedAt.IsZero() {
			continue
		}
		age := min(max(now.Sub(n.CreatedAt), 0), 2*mostHorizon)
		sum += age.Seconds() * float64(n.Price)
		weight += float64(n.Price)
	}
	if weight == 0 {
		return mostHorizon
	}
	mean := time.Duration(sum / weight * float64(time.Second))
	out := leastHorizon
	for out < mostHorizon && 2*out <= mean {
		out *= 2
	}
	return out
}
