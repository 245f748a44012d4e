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
}

// blocks are the reasons against any disruption by Kerf's own will, in the order in which they are told.
//
// Source: the common filter of disruption candidates of the Karpenter v1 API.
func (s *subject) blocks() []disrupt.Reason {
	var out []disrupt.Reason
	add := func(on bool, r disrupt.Reason) {
		if on {
			out = append(out, r)
		}
	}
	n := s.node
	add(n.Deleting || s.claim != nil && !s.claim.DeletionTimestamp.IsZero(), disrupt.Reason{Code: disrupt.Deleting})
	add(n.Leaving || s.busy, disrupt.Reason{Code: disrupt.InProgress})
	add(!n.Initialized || !s.initialized(), disrupt.Reason{Code: disrupt.NotInitialized})
	add(s.pool == nil, disrupt.Reason{Code: disrupt.NoPool, Detail: n.Pool})
	add(n.Initialized && !n.Ready, disrupt.Reason{Code: disrupt.NotReady})
	add(s.leftAlone, disrupt.Reason{Code: disrupt.Other, Detail: "traffic is shifted away from its zone"})
	add(n.DoNotDisrupt, disrupt.Reason{Code: disrupt.DoNotDisrupt})
	add(s.pods.Held != "", disrupt.Reason{Code: disrupt.DoNotDisrupt, Pod: s.pods.Held})
	add(s.pods.Refused != "", disrupt.Reason{Code: disrupt.DisruptionBudget, Pod: s.pods.Refused, Detail: string(s.pods.Refusal)})
	add(nominated(n), disrupt.Reason{Code: disrupt.Nominated})
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
func (s *subject) waits(now time.Time) (r disrupt.Reason, until time.Time) {
	if s.pool == nil || !s.initialized() {
		return disrupt.Reason{}, time.Time{}
	}
	at, ever := consolidatableAt(s.claim, s.pool, s.pods.LastPodEvent)
	switch {
	case !ever:
		return disrupt.Reason{Code: disrupt.NoConsolidation}, time.Time{}
	case now.Before(at):
		return disrupt.Reason{Code: disrupt.ConsolidateAfter, Detail: at.Sub(now).Round(time.Second).String()}, at
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
