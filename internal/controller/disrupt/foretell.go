package disrupt

import (
	"context"

	"github.com/kerf-sh/kerf/internal/cluster"
	"github.com/kerf-sh/kerf/internal/disrupt"
)

// Foretell decides on a snapshot which nodes could go, and does nothing about it: no move ripens, nothing is marked, told or
// remembered beyond the search that the engine may take up again. The loop must not have been started.
func (l *Loop) Foretell(ctx context.Context, snapshot *cluster.Snapshot) *disrupt.Decision {
	if l.engine == nil {
		l.engine = disrupt.NewEngine()
	}
	return l.engine.Decide(l.gather(ctx, snapshot).problem)
}
