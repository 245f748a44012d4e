package provision

import (
	"context"
	"log/slog"
	"time"

	"github.com/kerf-sh/kerf/internal/controller/apply"
	"github.com/kerf-sh/kerf/internal/controller/story"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
)

// sayAgain is how often a decision is told at least that changes nothing and says the same as the one before: pods that wait for
// hours are decided on every SafetyInterval.
const sayAgain = 10 * time.Minute

// lastSaid is what was told of the last decision.
type lastSaid struct {
	placed, unplaced int
	why              string
	at               time.Time
	since            int // decisions since that said the same
}

// say tells of a decision before it is carried out, so that what comes of it follows in the log.
func (c *Controller) say(ctx context.Context, id string, pending []*cluster.Pod, problem *pack.Problem, p *plan.Plan, virtual map[cluster.PodRef]bool, expected int, took time.Duration) {
	now := lastSaid{placed: placed(p, virtual), unplaced: unplaced(p, virtual), at: c.o.Clock.Now()}
	names, why := waiting(p, virtual)
	now.why = why
	level, repeated := slog.LevelInfo, 0
	switch was := &c.said; {
	case len(virtual) == len(pending) && len(p.NewNodes) == 0:
		level = slog.LevelDebug // nothing waits; it was looked whether there is still room
	case len(p.NewNodes) == 0 && was.placed == now.placed && was.unplaced == now.unplaced && was.why == now.why && now.at.Sub(was.at) < sayAgain:
		was.since++
		level = slog.LevelDebug
	default:
		repeated, c.said = was.since, now
	}
	line := []any{
		story.DecisionKey, id, "pods", len(pending) - len(virtual), "virtual_pods", len(virtual), "expected_pods", expected, "generation", problem.Generation,
		"new_nodes", len(p.NewNodes), "placed_on_existing", now.placed, "unplaced", now.unplaced, "price_micro_usd_per_hour", int64(p.Price), "took", took,
	}
	if now.unplaced > 0 {
		line = append(line, "unplaced-pods", story.List(len(names), story.PodsSaid, func(i int) string { return names[i].String() }), "why", why)
	}
	if repeated > 0 {
		line = append(line, "repeated", repeated)
	}
	c.o.Log.Log(ctx, level, "decided on pending pods", line...)
}

// waiting are the pods without a place, those that exist, and why the largest class of them has none.
func waiting(p *plan.Plan, virtual map[cluster.PodRef]bool) (names []cluster.PodRef, why string) {
	most := 0
	for i := range p.Unplaced {
		n := 0
		for _, ref := range p.Unplaced[i].Pods {
			if !virtual[ref] {
				names = append(names, ref)
				n++
			}
		}
		if n > most {
			most, why = n, apply.Explain(p.Unplaced[i].Reasons)
		}
	}
	return names, why
}
