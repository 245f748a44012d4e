package lifecycle

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/events"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// quotaReasons are the reasons of launches that a quota of the account was in the way of.
var quotaReasons = []string{"VCPULimitExceeded", "SpotQuotaExceeded", "FleetQuotaExceeded"}

// tellOfQuota tells the NodePool of a claim that a quota is used up: waiting does not help, and the claim with its own
// events is gone in a moment.
func (c *Controller) tellOfQuota(claim *karpv1.NodeClaim, err error) {
	e, ok := asCloud(err)
	if !ok || !slices.Contains(quotaReasons, e.Reason) {
		return
	}
	for _, o := range claim.OwnerReferences {
		if o.Kind != "NodePool" {
			continue
		}
		pool := &karpv1.NodePool{}
		pool.APIVersion, pool.Kind, pool.Name, pool.UID = o.APIVersion, o.Kind, o.Name, o.UID
		c.Recorder.Eventf(pool, corev1.EventTypeWarning, events.QuotaExceeded, "%s", cut(cloud.Lasting(e.Err.Error()), 1000))
	}
}
