package disrupt

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// replaceStatic replaces nodes of static pools that drifted, each by a bare instance of its pool; it returns how many
// commands it started. Where pods go does not matter: the number of nodes stays, and so does the room.
//
// A pool that has more nodes than it is to have waits until it has not: the ones that are too many may be those that
// drifted. The instance that comes counts against limits.nodes beside the one that goes.
func (l *Loop) replaceStatic(ctx context.Context, v *driftView) (started int, err error) {
	if l.Bare == nil {
		return 0, nil
	}
	var errs []error
	lines := map[string][]candidate{} // of pools, without what must not go
	for _, c := range v.due {
		if c.static && len(v.blocks[c.Node]) == 0 {
			lines[c.Pool] = append(lines[c.Pool], c)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(lines)) {
		n, err := l.replaceOf(ctx, v, v.pools[name], lines[name])
		started += n
		errs = append(errs, err)
	}
	return started, errors.Join(errs...)
}

// replaceOf is replaceStatic for the first nodes of a pool that may go.
func (l *Loop) replaceOf(ctx context.Context, v *driftView, pool *karpv1.NodePool, first []candidate) (int, error) {
	if left, bound := v.spending[pool.Name].Left[karpv1.DisruptionReasonDrifted]; bound {
		first = first[:min(len(first), left)]
	}
	all, staying := countOf(pool, v.snapshot)
	if len(first) == 0 || !pool.StatusConditions().IsTrue() || staying > int(*pool.Spec.Replicas) {
		return 0, nil
	}
	if limit, ok := intake.Resources(corev1.ResourceList(pool.Spec.Limits))[res.Nodes]; ok {
		room := int(max(0, limit-int64(all)))
		if room == 0 {
			l.poolWaits(v, pool, "limit", fmt.Sprintf("drifted nodes wait: limits.nodes is %d and %d are there, so that none can come before one goes", limit, all))
		}
		first = first[:min(len(first), room)]
	}
	if len(first) == 0 {
		return 0, nil
	}
	bare, reasons, offered, err := l.Bare(ctx, pool, len(first), v.snapshot)
	if err != nil {
		return 0, fmt.Errorf("replacing drifted nodes of nodepool %q: %w", pool.Name, err)
	}
	if len(bare) == 0 && len(reasons) > 0 {
		l.poolWaits(v, pool, "bare "+string(reasons[0].Code), "drifted nodes wait, because no instance can be launched for them: "+reasons[0].Text())
	}
	var commands []Command
	for i, c := range first[:min(len(first), len(bare))] {
		commands = append(commands, Command{
			Cause: karpv1.DisruptionReasonDrifted, Nodes: []Going{c.Going}, NewNodes: bare[i : i+1 : i+1], Pools: []*cluster.Pool{offered},
			Why: "its static pool keeps its number of nodes",
		})
	}
	return l.startDrift(ctx, commands)
}

// countOf counts the instances of a pool: all, and those that stay.
func countOf(pool *karpv1.NodePool, snapshot *cluster.Snapshot) (all, staying int) {
	for _, n := range snapshot.Nodes {
		if n.Pool != pool.Name || n.Claim == "" {
			continue
		}
		all++
		if !n.Deleting && !n.Leaving {
			staying++
		}
	}
	return all, staying
}
