package aws

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/aws/awserr"
	"github.com/kerf-sh/kerf/internal/aws/launchtemplate"
)

// learnSpotTags finds out whether the controller may tag the requests of spot instances. Policies of editions before v1
// do not allow it; EC2 then refuses the whole launch, so such requests are left untagged rather than spot being lost.
func (p *Provider) learnSpotTags(ctx context.Context, class *awsv1.EC2NodeClass, t *launchtemplate.Template, x *probe) {
	denied := func(tagged bool) (bool, error) {
		err := p.trySpot(ctx, class, t, x, tagged)
		return awserr.LacksPermission(err), err
	}
	with, cause := denied(true)
	if !with {
		if cause == nil && p.spotUntagged.Swap(false) {
			p.log.Info("spot requests are tagged again")
		}
		return
	}
	// Refused either way, it is not the tag: what launches spot instances will say what it is.
	if without, _ := denied(false); without {
		return
	}
	if !p.spotUntagged.Swap(true) {
		p.log.Warn("spot requests stay without tags, because the controller's policy does not allow ec2:CreateTags on "+
			"spot-instances-request/*; instances are tagged all the same", "error", cause)
	}
}

// trySpot is a dry run of launching a spot instance of the class.
func (p *Provider) trySpot(ctx context.Context, class *awsv1.EC2NodeClass, t *launchtemplate.Template, x *probe, tagged bool) error {
	resources := []types.ResourceType{types.ResourceTypeInstance, types.ResourceTypeVolume}
	if tagged {
		resources = append(resources, types.ResourceTypeSpotInstancesRequest)
	}
	nic := types.InstanceNetworkInterfaceSpecification{DeviceIndex: new(int32(0)), SubnetId: &class.Status.Subnets[0].ID}
	for _, g := range class.Status.SecurityGroups {
		nic.Groups = append(nic.Groups, g.ID)
	}
	_, err := p.session.EC2.RunInstances(ctx, &ec2.RunInstancesInput{
		DryRun: new(true), MinCount: new(int32(1)), MaxCount: new(int32(1)),
		LaunchTemplate:        &types.LaunchTemplateSpecification{LaunchTemplateName: &t.Name, Version: new("$Latest")},
		InstanceType:          x.instanceType,
		ImageId:               x.imageID(),
		InstanceMarketOptions: &types.InstanceMarketOptionsRequest{MarketType: types.MarketTypeSpot},
		NetworkInterfaces:     []types.InstanceNetworkInterfaceSpecification{nic},
		TagSpecifications:     tagSpecs(launchtemplate.Tags(class, p.clusterTag(), ""), resources...),
	})
	return dryRunError("dry run of RunInstances for a spot instance", err)
}
