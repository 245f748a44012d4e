package drift

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/api/status"
)

func TestInstancesDriftFromTheirReservationOnlyWhenItIsKnown(t *testing.T) {
	ready := func(generation int64) status.Condition {
		return status.Condition{Type: awsv1.ConditionTypeCapacityReservationsReady, Status: metav1.ConditionTrue, ObservedGeneration: generation}
	}
	for name, c := range map[string]struct {
		reservation string
		selected    []string
		condition   status.Condition
		want        Verdict
	}{
		"it is selected":                         {"cr-1", []string{"cr-0", "cr-1"}, ready(2), Same},
		"another is selected":                    {"cr-1", []string{"cr-0"}, ready(2), Differs},
		"none is selected":                       {"cr-1", nil, ready(2), Differs},
		"what is selected is not known":          {"cr-1", nil, status.Condition{Type: awsv1.ConditionTypeCapacityReservationsReady, Status: metav1.ConditionUnknown, ObservedGeneration: 2}, Unknown},
		"what is selected was known before edit": {"cr-1", nil, ready(1), Unknown},
		"the instance is not reserved":           {"", []string{"cr-0"}, ready(2), Same},
	} {
		t.Run(name, func(t *testing.T) {
			claim, class := pair(func(claim *karpv1.NodeClaim, class *awsv1.EC2NodeClass) {
				if c.reservation != "" {
					claim.Labels[awsv1.LabelCapacityReservationID] = c.reservation
				}
				for _, id := range c.selected {
					class.Status.CapacityReservations = append(class.Status.CapacityReservations, awsv1.CapacityReservation{ID: id})
				}
				class.Status.Conditions = append(class.Status.Conditions, c.condition)
			})
			if _, got := Reservation(claim, class); got != c.want {
				t.Errorf("verdict %v, want %v", got, c.want)
			}
		})
	}
}
