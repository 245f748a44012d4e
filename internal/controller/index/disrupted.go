package index

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/obs"
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
		own := slices.ContainsFunc(p.OwnerReferences, func(o metav1.OwnerReference) bool { return o.Kind == "DaemonSet" || o.Kind == "Node" })
		if !own && p.DeletionTimestamp.IsZero() && p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed {
			n++
		}
	}
	m.Disruption.Pods.WithLabelValues(reason, pool, capacityType, "", mode).Add(float64(n))
}
