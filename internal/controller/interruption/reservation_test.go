package interruption_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/interruption"
)

func TestAReservationThatIsTakenBackCountsAsEmptyAndThePoolStaysOpen(t *testing.T) {
	claim := nodeClaim("a", ours, func(c *karpv1.NodeClaim) {
		c.Labels[karpv1.CapacityTypeLabelKey] = "reserved"
		c.Labels[awsv1.LabelCapacityReservationID] = "cr-1"
	})
	h := newTestCluster(t, interruption.Options{}, claim, nodeOf(claim))
	h.deliver(reservation(ours, start))
	if !h.deleting("a") {
		t.Error("the node is not drained")
	}
	if diff := cmp.Diff([]string{"reservation cr-1"}, h.region.closed); diff != "" {
		t.Errorf("closed %s", diff)
	}
}
