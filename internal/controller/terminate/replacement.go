package terminate

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/index"
)

// held reports whether the drain waits for the instances that take the pods over. Only the drain of an instance that goes
// although its pods are well does: one that AWS takes back, and one that has reached its age. Who deletes a NodeClaim
// by hand wants it gone. deadline is zero without one.
func (n *Nodes) held(node *corev1.Node, claim *karpv1.NodeClaim, deadline, now time.Time) bool {
	if n.Replacements == nil || claim == nil {
		return false
	}
	_, expired := claim.Annotations[index.ExpiredAnnotation]
	if !expired && claim.Annotations[index.InterruptedAnnotation] == "" {
		return false
	}
	patience := ahead
	if expired {
		patience = aheadOfExpiry
	}
	if !now.Before(heldUntil(node, deadline, patience)) {
		return false
	}
	homeless, coming := n.Replacements.AwaitingReplacement(node.Name)
	if coming {
		return true
	}
	return homeless && now.Before(heldUntil(node, deadline, ahead))
}

// heldUntil is how long a drain may wait for replacements: its patience, or less where the instance has to be gone before.
func heldUntil(node *corev1.Node, deadline time.Time, patience time.Duration) time.Time {
	until := node.DeletionTimestamp.Add(patience)
	if latest := deadline.Add(-reserve); !deadline.IsZero() && latest.Before(until) {
		return latest
	}
	return until
}
