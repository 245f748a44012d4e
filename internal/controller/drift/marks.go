package drift

import (
	"cmp"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

// mark is one difference between a machine and its class that the condition Drifted can tell of.
type mark struct {
	reason  string
	compare func(*karpv1.NodeClaim, *awsv1.EC2NodeClass) (message string, v Verdict)
}

// marks in the order in which they are told: of several differences, the first counts.
var marks = []mark{
	{awsv1.ReasonNodeClassDrift, NodeClass},
	{awsv1.ReasonLaunchTemplateDrift, Template},
	{awsv1.ReasonAMIDrift, Image},
}

// judge compares a claim with its class. reason and message are of the first difference, empty when there is none that is
// known. gone says that the difference which the claim is marked with is known to be none any more; was is its reason.
func judge(claim *karpv1.NodeClaim, class *awsv1.EC2NodeClass, was string) (reason, message string, gone bool) {
	for _, m := range marks {
		text, v := m.compare(claim, class)
		if v == Differs && reason == "" {
			reason, message = m.reason, text
		}
		gone = gone || v == Same && m.reason == was
	}
	return reason, message, gone && reason == ""
}

// NodeClass compares the hash of the fields of a class that a machine was launched with with that of the class now. Hashes
// of different versions, or of another controller, say nothing of each other.
func NodeClass(claim *karpv1.NodeClaim, class *awsv1.EC2NodeClass) (message string, v Verdict) {
	was, now := claim.Annotations[awsv1.AnnotationEC2NodeClassHash], class.Annotations[awsv1.AnnotationEC2NodeClassHash]
	version := cmp.Or(class.Annotations[awsv1.AnnotationEC2NodeClassHashVersion], "none")
	switch {
	case !claim.StatusConditions().IsTrue(karpv1.ConditionTypeLaunched):
		return "", Unknown
	case was == "", now == "", claim.Annotations[awsv1.AnnotationEC2NodeClassHashVersion] != version:
		return "", Unknown
	case was == now:
		return "", Same
	}
	return "launched before the fields of EC2NodeClass " + class.Name + " that decide how a node is made were changed", Differs
}
