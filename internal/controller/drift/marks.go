package drift

import (
	"cmp"
	"slices"
	"time"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// subject is a claim with its class; its instance as EC2 last described it, nil while it has not; its pool, nil where there is
// none; and what is known of how its instance type is sold.
type subject struct {
	claim    *karpv1.NodeClaim
	class    *awsv1.EC2NodeClass
	instance *cloud.Instance
	pool     *karpv1.NodePool
	typ      *catalog.Type
	offered  *offers
	now      time.Time
}

func (s subject) sale() (message string, v Verdict) {
	if s.offered == nil {
		return "", Unknown
	}
	return s.offered.verdict(s.claim, s.now)
}

// mark is one difference between an instance and its class that the condition Drifted can tell of.
type mark struct {
	reason  string
	compare func(subject) (message string, v Verdict)
}

// marks in the order in which they are told: of several differences, the first counts.
var marks = []mark{
	{karpv1.ReasonNodePoolDrifted, func(s subject) (string, Verdict) { return NodePool(s.claim, s.pool) }},
	{karpv1.ReasonRequirementsDrifted, func(s subject) (string, Verdict) { return Requirements(s.claim, s.pool, s.typ) }},
	{karpv1.ReasonInstanceTypeNotFound, func(s subject) (string, Verdict) { return s.sale() }},
	{awsv1.ReasonNodeClassDrift, func(s subject) (string, Verdict) { return NodeClass(s.claim, s.class) }},
	{awsv1.ReasonLaunchTemplateDrift, func(s subject) (string, Verdict) { return Template(s.claim, s.class) }},
	{awsv1.ReasonAMIDrift, func(s subject) (string, Verdict) { return Image(s.claim, s.class) }},
	{awsv1.ReasonSecurityGroupDrift, func(s subject) (string, Verdict) { return SecurityGroups(s.claim, s.instance, s.class) }},
	{awsv1.ReasonSubnetDrift, func(s subject) (string, Verdict) { return Subnet(s.instance, s.class) }},
	{awsv1.ReasonCapacityReservationDrift, func(s subject) (string, Verdict) { return Reservation(s.claim, s.class) }},
	{awsv1.ReasonPlacementGroupDrift, func(s subject) (string, Verdict) { return PlacementGroup(s.claim, s.class) }},
}

// judge compares a claim with its class. reason and message are of the first difference, empty when there is none that is
// known. gone says that the difference which the claim is marked with is known to be none any more; was is its reason. A
// reason that is not among the marks was written by another controller, and is gone once nothing differs for certain.
func judge(s subject, was string) (reason, message string, gone bool) {
	foreign := was != "" && !slices.ContainsFunc(marks, func(m mark) bool { return m.reason == was })
	same := true
	for _, m := range marks {
		text, v := m.compare(s)
		same = same && v == Same
		if v == Differs && reason == "" {
			reason, message = m.reason, text
		}
		gone = gone || v == Same && m.reason == was
	}
	return reason, message, (gone || foreign && same) && reason == ""
}

// NodeClass compares the hash of the class that an instance was launched from, which its claim has, with the class's now. Hashes
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
