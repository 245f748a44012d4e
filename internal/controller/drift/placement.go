package drift

import (
	"fmt"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

// PlacementGroup looks whether a claim's instance stands in the placement group that its class selects: one that was deleted
// and made again under its name has another id.
//
// While it is not known for the class as it is which group it selects, or there is none of that name, nothing is said. The
// condition alone does not tell: Karpenter sets it too, and keeps the group to itself.
func PlacementGroup(claim *karpv1.NodeClaim, class *awsv1.EC2NodeClass) (message string, v Verdict) {
	stands, selected := claim.Labels[awsv1.LabelPlacementGroupID], placementGroupID(class)
	switch {
	case !claim.StatusConditions().IsTrue(karpv1.ConditionTypeLaunched), !holds(class, awsv1.ConditionTypePlacementGroupReady), !class.PlacementGroupKnown():
		return "", Unknown
	case stands == selected:
		return "", Same
	case selected == "":
		return fmt.Sprintf("launched in placement group %s, and EC2NodeClass %s selects none any more", stands, class.Name), Differs
	case stands == "":
		return fmt.Sprintf("launched in no placement group, and EC2NodeClass %s selects %s", class.Name, selected), Differs
	}
	return fmt.Sprintf("launched in placement group %s, and EC2NodeClass %s selects %s", stands, class.Name, selected), Differs
}

// placementGroupID is the id of the group that a class selects, empty for none.
func placementGroupID(class *awsv1.EC2NodeClass) string {
	if class.Status.PlacementGroup == nil {
		return ""
	}
	return class.Status.PlacementGroup.ID
}
