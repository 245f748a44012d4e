package disrupt

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/state/cache"
)

// LoopState is the part of the cache that decisions on consolidation are made of.
type LoopState interface {
	// Settled counts the pods of an owner that are bound to a node or known to wait for one.
	Settled(owner types.UID) int
	Snapshot() *cluster.Snapshot
	Pools() []*karpv1.NodePool
	Claim(name string) *karpv1.NodeClaim
	Pod(cluster.PodRef) *corev1.Pod
	DisruptionConstraints() *cache.DisruptionConstraints
}

// view is the cluster as a decision on consolidation sees it.
type view struct {
	snapshot *cluster.Snapshot
	problem  *disrupt.Problem
	pools    map[string]*karpv1.NodePool
	spending map[string]*Spending
	nodes    map[string]*cluster.Node
	loose    bool          // much of what the cluster costs is of no use
	invalid  []*corev1.Pod // whose annotation do-not-disrupt can't be read
	timed    []*corev1.Pod // that it holds for a time
	// next is when something changes by itself, zero when that is not known.
	next time.Time
}

// gather makes the problem of the newest state.
func (l *Loop) gather(ctx context.Context, snapshot *cluster.Snapshot) *view {
	now := l.Clock.Now()
	standing := l.State.DisruptionConstraints()
	v := &view{snapshot: snapshot, pools: map[string]*karpv1.NodePool{}, nodes: map[string]*cluster.Node{}, invalid: standing.Invalid, timed: standing.Timed, next: standing.Next}
	var live []*karpv1.NodePool
	for _, p := range l.State.Pools() {
		if p.DeletionTimestamp == nil {
			v.pools[p.Name] = p
			live = append(live, p)
		}
	}
	if last := l.Found(); last != nil {
		v.loose = last.Spare*100 >= last.After*loosePercent
	}
	problem := l.Problem(ctx, snapshot)
	v.spending = Spend(live, snapshot.Nodes, l.Queue.Busy, now)
	v.problem = &disrupt.Problem{Cluster: problem, DeletionCosts: standing.DeletionCosts, Options: l.Options}
	for _, p := range live {
		v.problem.Pools = append(v.problem.Pools, poolOf(p, v.spending[p.Name]))
	}
	for _, n := range problem.Nodes {
		if n.Claim == "" {
			continue
		}
		v.nodes[n.Name] = n
		v.problem.Nodes = append(v.problem.Nodes, l.consider(v, n, standing.Nodes[n.Name], now))
	}
	l.survival.see(problem.Nodes, l.Queue.Awaited, now)
	v.problem.Options.SavingsHorizon, v.problem.Options.Survival = l.survival.horizon, l.survival.curve
	if l.without("survival") {
		v.problem.Options.Survival = nil
	}
	if l.without("horizon") {
		v.problem.Options.SavingsHorizon = mostHorizon
	}
	v.shield(problem)
	return v
}

func poolOf(p *karpv1.NodePool, s *Spending) disrupt.Pool {
	out := disrupt.Pool{Name: p.Name, Policy: disrupt.Policy(p.Spec.Disruption.ConsolidationPolicy), Static: p.IsStatic(), Allowed: map[disrupt.Cause]int{}}
	for _, cause := range []disrupt.Cause{disrupt.Empty, disrupt.Underutilized} {
		if left, bound := s.Left[karpv1.DisruptionReason(cause)]; bound {
			out.Allowed[cause] = left
		}
	}
	return out
}

// consider says what is known of a node beyond the cluster.
func (l *Loop) consider(v *view, n *cluster.Node, pods cache.NodeConstraints, now time.Time) disrupt.Node {
	s := &subject{node: n, claim: l.State.Claim(n.Claim), pool: v.pools[n.Pool], pods: pods, busy: l.Queue.Busy(n.Claim) || l.Queue.Awaited(n.Claim),
		leftAlone: l.LeftAlone != nil && l.LeftAlone(n.ProviderID), loose: v.loose || l.without("hold"), now: now}
	blocks, next, soon := s.blocks()
	if !next.IsZero() && (v.next.IsZero() || next.Before(v.next)) {
		v.next = next
	}
	return disrupt.Node{Name: n.Name, Blocks: blocks, Soon: soon, LifetimeLeft: s.lifetimeLeft(now)}
}

// shield leaves nodes that go with no room for more pods, even for those that tolerate the taint.
func (v *view) shield(problem *pack.Problem) {
	copied := false
	for i, n := range problem.Nodes {
		if !n.Leaving || n.Deleting {
			continue
		}
		if !copied {
			problem.Nodes, copied = append([]*cluster.Node(nil), problem.Nodes...), true
		}
		full := *n
		full.Allocatable = n.Used
		problem.Nodes[i] = &full
	}
}
