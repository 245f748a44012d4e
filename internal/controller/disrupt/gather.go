package disrupt

import (
	"context"
	"maps"
	"slices"
	"time"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/state/cache"
)

// view is the cluster as a decision on disruption sees it.
type view struct {
	snapshot *cluster.Snapshot
	problem  *disrupt.Problem
	pools    map[string]*karpv1.NodePool
	spending map[string]*Spending
	nodes    map[string]*cluster.Node // that are Kerf's
	standing *cache.DisruptionConstraints
	loose    bool // much of what the cluster costs is of no use
	now      time.Time
	// next is when something changes by itself, zero when that is not known.
	next time.Time
}

// newView is what a decision of either loop begins with.
func newView(state *cache.Cache, q *Queue, snapshot *cluster.Snapshot, now time.Time) *view {
	v := &view{snapshot: snapshot, pools: map[string]*karpv1.NodePool{}, nodes: map[string]*cluster.Node{}, standing: state.DisruptionConstraints(), now: now}
	var live []*karpv1.NodePool
	for _, p := range state.Pools() {
		if p.DeletionTimestamp == nil {
			v.pools[p.Name], live = p, append(live, p)
		}
	}
	for _, n := range snapshot.Nodes {
		if n.Claim != "" {
			v.nodes[n.Name] = n
		}
	}
	v.spending = Spend(live, snapshot.Nodes, q.Busy, now)
	return v
}

// subject is a node with what is known of it.
func (v *view) subject(n *cluster.Node, claim *karpv1.NodeClaim, q *Queue, leftAlone func(providerID string) bool) *subject {
	return &subject{
		node: n, claim: claim, pool: v.pools[n.Pool], pods: v.standing.Nodes[n.Name], busy: q.Busy(n.Claim) || q.Awaited(n.Claim),
		leftAlone: leftAlone != nil && leftAlone(n.ProviderID), loose: v.loose, now: v.now,
	}
}

// gather makes the problem of the newest state.
func (l *Loop) gather(ctx context.Context, snapshot *cluster.Snapshot) *view {
	v := newView(l.State, l.Queue, snapshot, l.Clock.Now())
	v.next = v.standing.Next
	if last := l.Found(); last != nil {
		v.loose = last.Spare*100 >= last.After*loosePercent
	}
	v.loose = v.loose || l.without("hold")
	problem := l.Problem(ctx, snapshot, v.replaceable())
	v.problem = &disrupt.Problem{Cluster: problem, Pools: v.poolsOf(), DeletionCosts: v.standing.DeletionCosts, Options: l.Options}
	for _, n := range problem.Nodes {
		if n.Claim != "" {
			v.problem.Nodes = append(v.problem.Nodes, l.consider(v, n))
		}
	}
	l.survival.see(problem.Nodes, l.Queue.Awaited, v.now)
	o := &v.problem.Options
	o.SavingsHorizon, o.Survival = l.survival.horizon, l.survival.curve
	if l.without("survival") {
		o.Survival = nil
	}
	if l.without("horizon") {
		o.SavingsHorizon = mostHorizon
	}
	if l.without("waits") {
		o.SmallSavingsWait = -1
	}
	return v
}

// replaceable is how many nodes the budgets let a decision replace at most to save money.
func (v *view) replaceable() int {
	sum := 0
	for _, s := range v.spending {
		n := s.Nodes
		if left, bound := s.Left[karpv1.DisruptionReasonUnderutilized]; bound {
			n = min(n, left)
		}
		sum += n
	}
	return sum
}

// poolsOf are the pools as a decision is told of them, by name.
func (v *view) poolsOf() []disrupt.Pool {
	var out []disrupt.Pool
	for _, name := range slices.Sorted(maps.Keys(v.pools)) {
		p := v.pools[name]
		own := disrupt.Pool{Name: name, Policy: disrupt.Policy(p.Spec.Disruption.ConsolidationPolicy), Static: p.IsStatic(), Allowed: map[disrupt.Cause]int{}}
		for reason, left := range v.spending[name].Left {
			own.Allowed[disrupt.Cause(reason)] = left
		}
		out = append(out, own)
	}
	return out
}

// consider says what is known of a node beyond the cluster.
func (l *Loop) consider(v *view, n *cluster.Node) disrupt.Node {
	s := v.subject(n, l.State.Claim(n.Claim), l.Queue, l.LeftAlone)
	blocks, next, soon := s.blocks()
	if l.without("onto") {
		soon = 0
	}
	if !next.IsZero() && (v.next.IsZero() || next.Before(v.next)) {
		v.next = next
	}
	return disrupt.Node{Name: n.Name, Blocks: blocks, Soon: soon, LifetimeLeft: s.lifetimeLeft(v.now)}
}
