package drift

import (
	"fmt"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

// Verdict is the outcome of a comparison.
type Verdict int

// Verdicts.
const (
	// Unknown: one of the two is not known, so nothing may follow.
	Unknown Verdict = iota
	Same
	Differs
)

// Template compares the launch template that a claim's instance was launched from with that of its class now. While the
// template has not been looked up for the class as it is, nothing is said.
func Template(claim *karpv1.NodeClaim, class *awsv1.EC2NodeClass) (message string, v Verdict) {
	was := claim.Annotations[awsv1.AnnotationLaunchTemplate]
	now := class.Status.LaunchTemplate
	switch {
	case !claim.StatusConditions().IsTrue(karpv1.ConditionTypeLaunched):
		return "", Unknown
	case class.Spec.LaunchTemplate == nil && was == "":
		return "", Same
	case class.Spec.LaunchTemplate == nil:
		return fmt.Sprintf("launched from launch template %s, and EC2NodeClass %s names none any more", was, class.Name), Differs
	case !holds(class, awsv1.ConditionTypeLaunchTemplateReady), now == nil:
		return "", Unknown
	case was == now.Ref():
		return "", Same
	case was == "":
		return fmt.Sprintf("launched before EC2NodeClass %s named launch template %s (%s)", class.Name, now.Name, now.Ref()), Differs
	}
	return fmt.Sprintf("launched from launch template %s, and EC2NodeClass %s stands for %s (%s) now", was, class.Name, now.Ref(), now.Name), Differs
}
