package drift

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/api/status"
)

// Image compares the image that a claim's instance boots with the one that its class has for such an instance now.
//
// Nothing is said while the class's images are not known for the class as it is, or while none of them boots the instance:
// an image that could not be looked up is absent, which is no sign of another one. Nor is anything said of an instance whose
// type's labels the claim lacks, or of a class whose launch template decides the image; Template does that.
func Image(claim *karpv1.NodeClaim, class *awsv1.EC2NodeClass) (message string, v Verdict) {
	if !claim.StatusConditions().IsTrue(karpv1.ConditionTypeLaunched) || claim.Status.ImageID == "" || claim.Labels[awsv1.LabelInstanceFamily] == "" ||
		class.Spec.LaunchTemplate != nil || !holds(class, awsv1.ConditionTypeAMIsReady) {
		return "", Unknown
	}
	at := slices.IndexFunc(class.Status.AMIs, func(a awsv1.AMI) bool { return boots(&a, claim.Labels) })
	if at < 0 {
		return "", Unknown
	}
	now := &class.Status.AMIs[at]
	if now.ID == claim.Status.ImageID {
		return "", Same
	}
	return fmt.Sprintf("launched from image %s, and EC2NodeClass %s has %s (%s) for such instances now", claim.Status.ImageID, class.Name, now.ID, now.Name), Differs
}

// holds tells whether a condition of a class is true of the class as it is now.
func holds(class *awsv1.EC2NodeClass, condition string) bool {
	i := slices.IndexFunc(class.Status.Conditions, func(c status.Condition) bool { return c.Type == condition })
	return i >= 0 && class.Status.Conditions[i].IsTrue() && class.Status.Conditions[i].ObservedGeneration == class.Generation
}

// boots tells whether an instance with these labels meets all requirements of an image. Operators that no image has are not
// met.
func boots(ami *awsv1.AMI, labels map[string]string) bool {
	for _, r := range ami.Requirements {
		value, has := labels[r.Key]
		ok := false
		switch r.Operator {
		case corev1.NodeSelectorOpIn:
			ok = has && slices.Contains(r.Values, value)
		case corev1.NodeSelectorOpNotIn:
			ok = !has || !slices.Contains(r.Values, value)
		case corev1.NodeSelectorOpExists:
			ok = has
		case corev1.NodeSelectorOpDoesNotExist:
			ok = !has
		}
		if !ok {
			return false
		}
	}
	return true
}
