package disrupt

import (
	"slices"
	"time"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/state/cache"
)

// subject is a node with what is known of it when its disruption is considered.
type subject struct {
	node  *cluster.Node
	claim *karpv1.NodeClaim // nil when it is not known (yet)
	pool  *karpv1.NodePool  // nil when there is none
	pods  cache.NodeConstraints
	// busy: it is part of a command that the snapshot may not show yet, or what one waits for. leftAlone: traffic is shifted away from its zone.
	busy, leftAlone bool
	// loose: much of what the cluster costs is of no use. waived: what pods ask does not count.
	loose, waived bool
	now           time.Time
}

// closed are the gates that are closed to a node's disruption by Kerf's own will, in the order in which they are asked and told: the
// first is what holds the node. Those that open by themselves at a time that is known are not among them: see waits and held. The
// pods of a node that drifted are better off elsewhere if it is not ready, which therefore holds it from consolidation only.
//
// Source: the common filter of disruption candidates of the Karpenter v1 API.
func (s *subject) closed(consolidation bool) (out []disrupt.Reason) {
	gate := func(closed bool, r disrupt.Reason) {
		if closed {
			out = append(out, r)
		}
	}
	refused := disrupt.Reason{Code: disrupt.DisruptionBudget, Pod: s.pods.Refused, Want: s.pods.Guardian}
	if refused.Want == "" {
		refused.Detail = string(s.pods.Refusal) // with a name the budget says enough
	}
	gate(s.node.Deleting || s.claim != nil && !s.claim.DeletionTimestamp.IsZero(), disrupt.Reason{Code: disrupt.Deleting})
	gate(s.node.Leaving || s.busy, disrupt.Reason{Code: disrupt.InProgress})
	gate(!s.node.Initialized || !s.initialized(), disrupt.Reason{Code: disrupt.NotInitialized})
	gate(s.pool == nil, disrupt.Reason{Code: disrupt.NoPool, Detail: s.node.Pool})
	gate(consolidation && s.node.Initialized && !s.node.Ready, disrupt.Reason{Code: disrupt.NotReady})
	gate(s.leftAlone, disrupt.Reason{Code: disrupt.Other, Detail: "traffic is shifted away from its zone"})
	gate(s.node.DoNotDisrupt, disrupt.Reason{Code: disrupt.DoNotDisrupt})
	gate(s.pods.Held != "" && !s.waived, disrupt.Reason{Code: disrupt.DoNotDisrupt, Pod: s.pods.Held})
	gate(s.pods.Refused != "" && !s.waived, refused)
	gate(slices.ContainsFunc(s.node.Pods, func(p *cluster.Pod) bool { return p.Node != s.node.Name }), disrupt.Reason{Code: disrupt.Nominated})
	return out
}

// blocks are the gates that are closed to consolidation. Next is when the first of them opens by itself, soon how long it takes
// until all have if consolidateAfter alone holds the node; both are zero where that is not known.
func (s *subject) blocks() (out []disrupt.Reason, next time.Time, soon time.Duration) {
	out = s.closed(true)
	for _, gate := range []func() (disrupt.Reason, time.Time){s.waits, s.held} {
		r, until := gate()
		if r.Code != "" {
			out = append(out, r)
		}
		if next.IsZero() || !until.IsZero() && until.Before(next) {
			next = until
		}
	}
	if len(out) == 1 && out[0].Code == disrupt.ConsolidateAfter {
		soon = next.Sub(s.now)
	}
	return out, next, soon
}

// eventual are the gates that are closed to a disruption that has to come about in the end, as for drift. On a claim with a
// terminationGracePeriod neither pods that ask not to be disrupted nor PodDisruptionBudgets stand against it: its owner has
// said how long they may hold up the node. What the node itself is annotated with does.
//
// Source: the eventual class of disruption of the Karpenter v1 API.
func (s *subject) eventual() []disrupt.Reason {
	s.waived = s.claim != nil && s.claim.Spec.TerminationGracePeriod != nil
	return s.closed(false)
}

// Against are the reasons for which a drifted node stays as things are: what the loop that replaces such nodes heeds. pool is
// nil when there is none.
func Against(n *cluster.Node, claim *karpv1.NodeClaim, pool *karpv1.NodePool, pods cache.NodeConstraints) []disrupt.Reason {
	return (&subject{node: n, claim: claim, pool: pool, pods: pods}).eventual()
}

// initialized reports whether the claim says so; the label of the node may be seen before.
func (s *subject) initialized() bool {
	return s.claim != nil && s.claim.StatusConditions().Get(karpv1.ConditionTypeInitialized).IsTrue()
}

// empty reports whether no pod would need another place if the node went. Pods that are given room on the node count, and
// so do virtual ones that have their room there.
func empty(n *cluster.Node) bool { return n.Virtual == 0 && !slices.ContainsFunc(n.Pods, pack.Movable) }

// waits says whether consolidation has to wait for the node, and until when; zero when for good, or not known. A node that
// is not initialized is blocked as such, and its consolidateAfter has not begun.
func (s *subject) waits() (r disrupt.Reason, until time.Time) {
	if s.pool == nil || s.pool.IsStatic() || !s.initialized() {
		return disrupt.Reason{}, time.Time{}
	}
	at, ever := consolidatableAt(s.claim, s.pool, s.pods.LastPodEvent)
	switch {
	case !ever:
		return disrupt.Reason{Code: disrupt.NoConsolidation}, time.Time{}
	case s.now.Before(at):
		return disrupt.Reason{Code: disrupt.ConsolidateAfter, Detail: at.Sub(s.now).Round(time.Second).String()}, at
	}
	return disrupt.Reason{}, time.Time{}
}

// lifetimeLeft is how long the node has until it goes because of its age, in steps, so that a decision need not be made
// again each second; 0 when it does not end.
func (s *subject) lifetimeLeft(now time.Time) time.Duration {
	if s.claim == nil || s.claim.Spec.ExpireAfter.Duration == nil {
		return 0
	}
	left := s.claim.CreationTimestamp.Add(*s.claim.Spec.ExpireAfter.Duration).Sub(now)
	step := time.Hour
	if left < 2*time.Hour {
		step = 10 * time.Minute
	}
	return max(left.Truncate(step), step)
}
