package drift

import (
	"fmt"
	"slices"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

// Reservation looks whether the capacity reservation that a claim's instance was launched out of is one that its class selects.
//
// Nothing is said of instances that are not reserved, or while it is not known for the class as it is what it selects. A
// reservation that has ended is not selected either; that its instance is on-demand then, which is no difference, is for the
// caller to find out.
func Reservation(claim *karpv1.NodeClaim, class *awsv1.EC2NodeClass) (message string, v Verdict) {
	id := claim.Labels[awsv1.LabelCapacityReservationID]
	switch {
	case !claim.StatusConditions().IsTrue(karpv1.ConditionTypeLaunched):
		return "", Unknown
	case id == "":
		return "", Same
	case !holds(class, awsv1.ConditionTypeCapacityReservationsReady):
		return "", Unknown
	case slices.ContainsFunc(class.Status.CapacityReservations, func(r awsv1.CapacityReservation) bool { return r.ID == id }):
		return "", Same
	}
	return fmt.Sprintf("launched out of capacity reservation %s, which EC2NodeClass %s does not select any more", id, class.Name), Differs
}
