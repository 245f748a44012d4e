package disrupt

import (
	"context"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/state/cache"
)

// Forecast decides on a snapshot which nodes could go, and does nothing about it: no move is confirmed, nothing is marked, told or
// remembered beyond the search that the engine may take up again. The loop must not have been started.
func (l *Loop) Forecast(ctx context.Context, snapshot *cluster.Snapshot) *disrupt.Decision {
	if l.engine == nil {
		l.engine = disrupt.NewEngine()
	}
	return l.engine.Decide(l.gather(ctx, snapshot).problem)
}

// Against are the reasons for which a drifted node stays as things are: what the loop that replaces such nodes heeds. pool is
// nil when there is none.
func Against(n *cluster.Node, claim *karpv1.NodeClaim, pool *karpv1.NodePool, pods cache.NodeConstraints) []disrupt.Reason {
	return (&subject{node: n, claim: claim, pool: pool, pods: pods}).eventual()
}
