package disrupt

import (
	"time"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
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

// gate is one thing that may stand between a node and its disruption by Kerf's own will.
type gate struct {
	// consolidation alone is held by it; drift is not.
	consolidation bool
	// closed is why it is closed, and until when if that is known; a reason without a code says that it is open.
	closed func(s *subject) (r disrupt.Reason, until time.Time)
}

// gates are all of them, in the order in which they are asked and told: the first that is closed is what holds the node.
//
// Source: the common filter of disruption candidates of the Karpenter v1 API; the hold is Kerf's own.
var gates = []gate{
	{closed: func(s *subject) (disrupt.Reason, time.Time) {
		return when(s.node.Deleting || s.claim != nil && !s.claim.DeletionTimestamp.IsZero(), disrupt.Reason{Code: disrupt.Deleting})
	}},
	{closed: func(s *subject) (disrupt.Reason, time.Time) {
		return when(s.node.Leaving || s.busy, disrupt.Reason{Code: disrupt.InProgress})
	}},
	{closed: func(s *subject) (disrupt.Reason, time.Time) {
		return when(!s.node.Initialized || !s.initialized(), disrupt.Reason{Code: disrupt.NotInitialized})
	}},
	{closed: func(s *subject) (disrupt.Reason, time.Time) {
		return when(s.pool == nil, disrupt.Reason{Code: disrupt.NoPool, Detail: s.node.Pool})
	}},
	// The pods of a node that drifted are better off elsewhere if it is not ready.
	{consolidation: true, closed: func(s *subject) (disrupt.Reason, time.Time) {
		return when(s.node.Initialized && !s.node.Ready, disrupt.Reason{Code: disrupt.NotReady})
	}},
	{closed: func(s *subject) (disrupt.Reason, time.Time) {
		return when(s.leftAlone, disrupt.Reason{Code: disrupt.Other, Detail: "traffic is shifted away from its zone"})
	}},
	{closed: func(s *subject) (disrupt.Reason, time.Time) {
		return when(s.node.DoNotDisrupt, disrupt.Reason{Code: disrupt.DoNotDisrupt})
	}},
	{closed: func(s *subject) (disrupt.Reason, time.Time) {
		return when(s.pods.Held != "" && !s.waived, disrupt.Reason{Code: disrupt.DoNotDisrupt, Pod: s.pods.Held})
	}},
	{closed: func(s *subject) (disrupt.Reason, time.Time) {
		r := disrupt.Reason{Code: disrupt.DisruptionBudget, Pod: s.pods.Refused, Want: s.pods.Guardian}
		if r.Want == "" {
			r.Detail = string(s.pods.Refusal) // with a name the budget says enough
		}
		return when(r.Pod != "" && !s.waived, r)
	}},
	{closed: func(s *subject) (disrupt.Reason, time.Time) {
		return when(nominated(s.node), disrupt.Reason{Code: disrupt.Nominated})
	}},
	{consolidation: true, closed: (*subject).waits},
	{consolidation: true, closed: (*subject).held},
}

// when is a reason on a condition.
func when(on bool, r disrupt.Reason) (disrupt.Reason, time.Time) {
	if !on {
		r = disrupt.Reason{}
	}
	return r, time.Time{}
}

// blocks are the gates that are closed to consolidation. Next is when the first of them opens by itself, soon how long it takes
// until all have if consolidateAfter alone holds the node; both are zero where that is not known.
func (s *subject) blocks() (out []disrupt.Reason, next time.Time, soon time.Duration) {
	for _, g := range gates {
		r, until := g.closed(s)
		if r.Code == "" {
			continue
		}
		if out = append(out, r); until.IsZero() {
			continue
		}
		if next.IsZero() || until.Before(next) {
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
	var out []disrupt.Reason
	for _, g := range gates {
		if g.consolidation {
			continue
		}
		if r, _ := g.closed(s); r.Code != "" {
			out = append(out, r)
		}
	}
	return out
}

// initialized reports whether the claim says so; the label of the node may be seen before.
func (s *subject) initialized() bool {
	return s.claim != nil && s.claim.StatusConditions().Get(karpv1.ConditionTypeInitialized).IsTrue()
}

// nominated reports whether pods were reserved for room on the node that have not come yet.
func nominated(n *cluster.Node) bool {
	for _, p := range n.Pods {
		if p.Node != n.Name {
			return true
		}
	}
	return false
}

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
