package aws

import (
	"context"
	"time"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/aws/awserr"
	"github.com/kerf-sh/kerf/internal/aws/fleet"
	"github.com/kerf-sh/kerf/internal/aws/offering"
	"github.com/kerf-sh/kerf/internal/aws/placement"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// countedAge is how old the list may be in which the instances of partitions are counted. Those that are launched meanwhile
// count besides.
const countedAge = time.Minute

// inPartition narrows what is wanted to one partition of the class's placement group, and the key with it. Without partitions,
// or when nothing can be had in any of them, it changes nothing.
func (p *Provider) inPartition(ctx context.Context, claim *karpv1.NodeClaim, class *awsv1.EC2NodeClass, types []*catalog.Type, key *planKey, want *fleet.Want) {
	g := class.Status.PlacementGroup
	if g == nil || g.PartitionCount == 0 {
		return
	}
	allowed := p.plans.partitions(*key, func() []int32 { return fleet.Partitions(types, *want) })
	key.partition = p.partitions.Choose(string(claim.UID), g.ID, allowed, p.placed(ctx, g.ID))
	if key.partition != 0 {
		want.Requirements = append(want.Requirements, requirement.Term{
			Key: awsv1.LabelPlacementGroupPartition, Operator: requirement.In, Values: []string{catalog.PartitionLabel(key.partition)},
		})
	}
}

// placed are the cluster's instances in a group. While they can't be listed, those that were launched of late have to do.
func (p *Provider) placed(ctx context.Context, group string) []placement.Placed {
	instances, err := p.inventory.List(ctx, countedAge)
	if err != nil {
		p.log.Warn("instances could not be listed, so partitions of a placement group may be used unevenly", "placement_group", group, "error", err)
		return nil
	}
	var out []placement.Placed
	for _, m := range instances {
		if m.PlacementGroup == group && (m.State == "pending" || m.State == "running") {
			out = append(out, placement.Placed{Instance: m.InstanceID, Partition: m.Partition})
		}
	}
	return out
}

// settlePartition tells what came of a launch: the choice of its partition holds as long as it is not known.
func (p *Provider) settlePartition(claim *karpv1.NodeClaim, launched *fleet.Launched, err error) {
	switch {
	case err == nil:
		p.partitions.Launched(string(claim.UID), launched.InstanceID)
	case cloud.ClassOf(err) != cloud.Unavailable:
		p.partitions.Refused(string(claim.UID))
	}
}

// placementLabels says on an instance in which group it stands. A partition that EC2 has not told yet is the one that was asked
// for; registration makes sure of it.
func placementLabels(m *cloud.Instance, b *fleet.Launched, plan *launchPlan) {
	if plan.own != nil {
		return // where it stands is the template's affair
	}
	delete(m.Labels, awsv1.LabelPlacementGroupID) // the type says where an instance would stand that is launched now
	setIf(m.Labels, awsv1.LabelPlacementGroupID, b.Group)
	partition := b.Partition
	if partition == 0 && b.Group == plan.request.Group {
		partition = plan.request.Partition
	}
	setIf(m.Labels, awsv1.LabelPlacementGroupPartition, catalog.PartitionLabel(partition))
	m.PlacementGroup, m.Partition = b.Group, b.Partition
}

// groupClosed closes a placement group in the zone that a launch failed in, if EC2 said which.
func (p *Provider) groupClosed(f fleet.PoolError) {
	if f.Group == "" || f.Zone == "" {
		return
	}
	reason := offering.GroupFull
	if f.Reason == awserr.ReasonPlacementGroupElsewhere {
		reason = offering.GroupElsewhere
	}
	p.unavailable.MarkGroup(f.Group, f.Zone, reason)
}
