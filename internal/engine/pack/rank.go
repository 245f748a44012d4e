package pack

import (
	"cmp"
	"math/bits"
	"slices"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
)

// rank says who goes first when there is not enough for all: the higher priority, then who has waited longer.
type rank struct {
	priority int32
	aged     int
}

func (r rank) compare(o rank) int {
	return cmp.Or(cmp.Compare(o.priority, r.priority), cmp.Compare(o.aged, r.aged))
}

// agingAfter is how long a pod waits before its rank rises for the first time. It rises again each time that the time of
// waiting has doubled, so that pods that keep coming can't hold up others for ever.
const agingAfter = 10 * time.Minute

// rankOf is the rank of a class. Age counts only where something may run short: otherwise all get what they need, and
// their order is better left to what packs well.
func (s *solver) rankOf(c *class) rank {
	r := rank{priority: c.src.Priority}
	if s.scarce() && len(c.pods) > 0 {
		r.aged = agedAt(s.p.Now, c.pods[0])
	}
	return r
}

// agedAt is how often the rank of the pod has risen.
func agedAt(now time.Time, pod *cluster.Pod) int {
	if pod.CreatedAt.IsZero() {
		return 0
	}
	return bits.Len64(uint64(max(0, now.Sub(pod.CreatedAt)) / agingAfter))
}

// scarce reports whether a limit or a reservation may run out.
func (s *solver) scarce() bool {
	return slices.ContainsFunc(s.pools, func(p *pool) bool { return p.hasLimits() || len(p.slots) > 0 })
}

// ranks are those of the classes, highest first.
func (s *solver) ranks() []rank {
	var out []rank
	for _, c := range s.classes {
		if c.broken == "" {
			out = append(out, c.rank)
		}
	}
	slices.SortFunc(out, rank.compare)
	return slices.Compact(out)
}
