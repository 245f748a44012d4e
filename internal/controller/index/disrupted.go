package index

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// Disrupted counts a claim that was made to go for a reason that is not consolidation's or drift's, and the pods that have
// to leave its node.
func Disrupted(ctx context.Context, c client.Reader, m *obs.Metrics, claim *karpv1.NodeClaim, reason, mode string) {
	pool, capacityType := claim.Labels[karpv1.NodePoolLabelKey], claim.Labels[karpv1.CapacityTypeLabelKey]
	m.NodeClaimsDisrupted.WithLabelValues(reason, pool, capacityType, "", mode).Inc()
	if claim.Status.NodeName == "" {
		return
	}
	var pods corev1.PodList
	if err := c.List(ctx, &pods, client.MatchingFields{PodNode: claim.Status.NodeName}, client.UnsafeDisableDeepCopy); err != nil {
		return // a count is not worth an error
	}
	n := 0
	for i := range pods.Items {
		p := &pods.Items[i]
		if p.DeletionTimestamp.IsZero() && intake.IsActive(p) && !intake.IsDaemon(p) && !intake.IsMirror(p) {
			n++
		}
	}
	m.Disruption.Pods.WithLabelValues(reason, pool, capacityType, "", mode).Add(float64(n))
}
