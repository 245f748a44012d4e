package aws

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/aws/offering"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// InstanceFailed tells that the instance of a claim ended before it was a node: what is to blame for it is not asked for again for a
// while, a longer one each time, so that the same instance is not launched in a loop.
func (p *Provider) InstanceFailed(claim *karpv1.NodeClaim, class *awsv1.EC2NodeClass, why *cloud.Ended) {
	switch why.Blame {
	case cloud.BlameClass:
		if !outdated(claim, class) {
			p.unavailable.MarkClass(classState(class))
		}
	case cloud.BlamePool:
		p.unavailable.MarkPool(offering.Pool{
			CapacityType: claim.Labels[karpv1.CapacityTypeLabelKey], InstanceType: claim.Labels[corev1.LabelInstanceTypeStable],
			Zone: claim.Labels[corev1.LabelTopologyZone],
		}, offering.NoCapacity)
	case cloud.BlameNobody:
	}
}

// outdated reports whether a claim's instance was launched from the class as it was before a change: what was wrong with it
// may have been fixed.
func outdated(claim *karpv1.NodeClaim, class *awsv1.EC2NodeClass) bool {
	if from := claim.Annotations[awsv1.AnnotationLaunchTemplate]; from != "" && from != class.Status.LaunchTemplate.Ref() {
		return true
	}
	was, is := claim.Annotations[awsv1.AnnotationEC2NodeClassHash], class.Annotations[awsv1.AnnotationEC2NodeClassHash]
	sameKind := claim.Annotations[awsv1.AnnotationEC2NodeClassHashVersion] == class.Annotations[awsv1.AnnotationEC2NodeClassHashVersion]
	return sameKind && was != "" && is != "" && was != is
}

// InstanceJoined tells that an instance of the class has become a node.
func (p *Provider) InstanceJoined(class *awsv1.EC2NodeClass) {
	p.unavailable.ClassJoined(classState(class))
}

// classState stands for a class as it is now.
func classState(class *awsv1.EC2NodeClass) string {
	return classKey(class) + "/" + strconv.FormatInt(class.Generation, 10) + "/" + class.Status.LaunchTemplate.Ref()
}

// heldBack keeps the list of types in which nothing can be launched, for a class that is closed.
type heldBack struct {
	from, types []*catalog.Type
	reason      string
}

// back is the list itself, or if there is a reason one like it of which nothing can be launched for that reason.
func (h *heldBack) back(types []*catalog.Type, reason string) []*catalog.Type {
	if reason == "" || len(types) == 0 {
		*h = heldBack{}
		return types
	}
	if h.reason == reason && len(h.from) == len(types) && &h.from[0] == &types[0] {
		return h.types
	}
	*h = heldBack{from: types, reason: reason, types: make([]*catalog.Type, len(types))}
	for i, t := range types {
		closed := *t
		closed.Offerings = slices.Clone(t.Offerings)
		for j := range closed.Offerings {
			if o := &closed.Offerings[j]; o.Available || o.Unavailable == offering.NoPrice {
				o.Available, o.Unavailable = false, reason
			}
		}
		h.types[i] = &closed
	}
	return h.types
}
