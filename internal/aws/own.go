package aws

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/aws/awserr"
	"github.com/kerf-sh/kerf/internal/aws/fleet"
	"github.com/kerf-sh/kerf/internal/aws/instancetype"
	"github.com/kerf-sh/kerf/internal/aws/launchtemplate"
	"github.com/kerf-sh/kerf/internal/aws/owntemplate"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// reasonTemplateNotReady is why it is not known what a class selects whose launch template can't be used.
const reasonTemplateNotReady = "LaunchTemplateNotReady"

// resolveOwn resolves a class that names a launch template of the user's: what other classes select, the template says.
func (p *Provider) resolveOwn(ctx context.Context, class *awsv1.EC2NodeClass) (*cloud.Resolution, error) {
	was := &class.Status
	r := &cloud.Resolution{AMIs: was.AMIs, SecurityGroups: was.SecurityGroups, InstanceProfile: was.InstanceProfile, LaunchTemplate: was.LaunchTemplate}
	var subnets, template cloud.Finding
	var own *owntemplate.Template
	r.Subnets = was.Subnets
	g := findings{class: class}
	g.find(awsv1.ConditionTypeSubnetsReady, &subnets, func() { r.Subnets, subnets = p.networks.Subnets(ctx, class) })
	g.find(awsv1.ConditionTypeLaunchTemplateReady, &template, func() { own, template = p.own.Resolve(ctx, class) })
	g.wait()
	waiting := func(condition string) cloud.Finding {
		return cloud.Finding{Condition: condition, Unknown: true, Reason: reasonTemplateNotReady, Message: "it follows from the launch template, see LaunchTemplateReady"}
	}
	groups, images, profile := waiting(awsv1.ConditionTypeSecurityGroupsReady), waiting(awsv1.ConditionTypeAMIsReady), waiting(awsv1.ConditionTypeInstanceProfileReady)
	if own != nil {
		r.LaunchTemplate, r.InstanceProfile = own.Status(), own.Profile
		profile = cloud.Finding{Condition: awsv1.ConditionTypeInstanceProfileReady, OK: true}
		g.find(awsv1.ConditionTypeSecurityGroupsReady, &groups, func() { r.SecurityGroups, groups = p.networks.TemplateGroups(ctx, class, own.Groups) })
		g.find(awsv1.ConditionTypeAMIsReady, &images, func() { r.AMIs, images = p.ownImage(ctx, class, own) })
		g.wait()
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("resolving EC2NodeClass %q: %w", class.Name, err)
	}
	r.Findings = []cloud.Finding{subnets, groups, images, profile, {Condition: awsv1.ConditionTypePlacementGroupReady, OK: true}, template}
	r.Findings = append(r.Findings, p.validateOwn(ctx, class, r))
	return r, nil
}

// ownImage finds the image that a template names.
func (p *Provider) ownImage(ctx context.Context, class *awsv1.EC2NodeClass, own *owntemplate.Template) ([]awsv1.AMI, cloud.Finding) {
	found, f := p.images.Resolve(ctx, own.Class(class, "", nil), "")
	name := own.Image + own.Parameter
	if !f.OK {
		if !f.Unknown {
			f.Message = fmt.Sprintf("EC2NodeClass %s: the launch template names image %s, which is no available x86_64 or arm64 image of this region that this account may use", class.Name, name)
		}
		return found, f
	}
	if disks, err := p.images.Disks(ctx, found[0].ID); err == nil && disks.Windows {
		return nil, cloud.Finding{Condition: awsv1.ConditionTypeAMIsReady, Reason: awsv1.ReasonLaunchTemplateInvalid,
			Message: fmt.Sprintf("EC2NodeClass %s: the launch template names image %s, which is one of Windows: this is not supported in templates, use amiFamily and userData", class.Name, name)}
	}
	return found, f
}

// effective is the class as the arithmetic of instance types sees it: one that names a launch template says itself what the
// template says.
func (p *Provider) effective(ctx context.Context, class *awsv1.EC2NodeClass) (*awsv1.EC2NodeClass, error) {
	if class.Spec.LaunchTemplate == nil {
		return class, nil
	}
	own, err := p.own.Version(ctx, class.Status.LaunchTemplate)
	if err != nil {
		return nil, err
	}
	if len(class.Status.AMIs) == 0 {
		return nil, &cloud.Error{Op: "reading the image", Class: cloud.ClassNotReady, Reason: awsv1.ReasonAMINotFound, Err: errors.New("it has not been found yet")}
	}
	disks, err := p.images.Disks(ctx, class.Status.AMIs[0].ID)
	if err != nil && !cloud.IsNotFound(err) {
		return nil, err
	}
	return own.Class(class, disks.Root, disks.GiB), nil
}

// validateOwn checks what is left to check, as validate does.
func (p *Provider) validateOwn(ctx context.Context, class *awsv1.EC2NodeClass, r *cloud.Resolution) cloud.Finding {
	f := cloud.Finding{Condition: awsv1.ConditionTypeValidationSucceeded}
	if err := launchtemplate.CheckTags(class); err != nil {
		f.Reason, f.Message = awsv1.ReasonTagValidationFailed, fmt.Sprintf("EC2NodeClass %q: %v", class.Name, err)
		return f
	}
	if waiting, wait := dependencies(r.Findings); wait {
		return waiting
	}
	resolved := class.DeepCopy()
	resolved.Status.Subnets, resolved.Status.SecurityGroups, resolved.Status.AMIs = p.networks.ForLaunches(r.Subnets), r.SecurityGroups, r.AMIs
	resolved.Status.InstanceProfile, resolved.Status.LaunchTemplate = r.InstanceProfile, r.LaunchTemplate
	seen, err := p.effective(ctx, resolved)
	if err == nil {
		_, err = instancetype.ConfigOf(seen, p.shapeOptions(class))
	}
	if err != nil {
		f.Reason, f.Message = awsv1.ReasonSpecInvalid, fmt.Sprintf("EC2NodeClass %q, with what its launch template tells the kubelet: %v", class.Name, err)
		return f
	}
	if p.opts.DisableDryRun || p.opts.ReadOnly {
		f.OK = true
		return f
	}
	probes, all, err := p.probes(ctx, resolved)
	if err != nil {
		return typesUnknown(class, err)
	}
	return p.ownDryRuns(ctx, resolved, probes, all)
}

// ownDryRuns are the dry runs for a user's own template.
func (p *Provider) ownDryRuns(ctx context.Context, class *awsv1.EC2NodeClass, probes []probe, all bool) cloud.Finding {
	key := class.Status.LaunchTemplate.Ref() + " " + strconv.FormatInt(class.Generation, 10)
	for _, s := range class.Status.Subnets {
		key += " " + s.ID
	}
	if f, ok := p.checks.get(class, key, probes, p.now()); ok {
		return f
	}
	k := check{template: key, types: names(probes)}
	f := p.try(class, &k, probes, all, []trial{
		{"CreateFleet", awsv1.ReasonCreateFleetAuthCheckFailed, func() error {
			return withEach(probes, func(x *probe) error { return p.tryOwnFleet(ctx, class, x) })
		}},
		{"RunInstances", awsv1.ReasonRunInstancesAuthCheckFailed, func() error {
			return withEach(probes, func(x *probe) error { return p.tryOwnRun(ctx, class, x) })
		}},
	})
	if f.denied {
		k.finding.Message += owntemplate.Hint
	}
	p.checks.put(class, k)
	return k.finding
}

func (p *Provider) tryOwnFleet(ctx context.Context, class *awsv1.EC2NodeClass, x *probe) error {
	own := class.Status.LaunchTemplate
	_, err := p.session.EC2.CreateFleet(ctx, &ec2.CreateFleetInput{
		DryRun: new(true),
		Type:   types.FleetTypeInstant,
		TargetCapacitySpecification: &types.TargetCapacitySpecificationRequest{
			TotalTargetCapacity: new(int32(1)), DefaultTargetCapacityType: types.DefaultTargetCapacityTypeOnDemand,
		},
		LaunchTemplateConfigs: []types.FleetLaunchTemplateConfigRequest{{
			LaunchTemplateSpecification: &types.FleetLaunchTemplateSpecificationRequest{
				LaunchTemplateId: new(own.ID), Version: new(strconv.FormatInt(own.Version, 10)),
			},
			Overrides: []types.FleetLaunchTemplateOverridesRequest{{SubnetId: &class.Status.Subnets[0].ID, InstanceType: x.instanceType}},
		}},
		TagSpecifications: tagSpecs(launchtemplate.Tags(class, p.clusterTag(), ""), types.ResourceTypeInstance, types.ResourceTypeVolume, types.ResourceTypeFleet),
	})
	return dryRunError(fmt.Sprintf("dry run of CreateFleet for %s", x.instanceType), err)
}

func (p *Provider) tryOwnRun(ctx context.Context, class *awsv1.EC2NodeClass, x *probe) error {
	own := class.Status.LaunchTemplate
	return inEach(class.Status.Subnets, func(subnet string) error {
		_, err := p.session.EC2.RunInstances(ctx, &ec2.RunInstancesInput{
			DryRun: new(true), MinCount: new(int32(1)), MaxCount: new(int32(1)),
			LaunchTemplate:    &types.LaunchTemplateSpecification{LaunchTemplateId: new(own.ID), Version: new(strconv.FormatInt(own.Version, 10))},
			InstanceType:      x.instanceType,
			SubnetId:          &subnet,
			TagSpecifications: tagSpecs(launchtemplate.Tags(class, p.clusterTag(), ""), types.ResourceTypeInstance, types.ResourceTypeVolume),
		})
		return dryRunError(fmt.Sprintf("dry run of RunInstances for %s in %s", x.instanceType, subnet), err)
	})
}

// launchOwn has a plan launch from the user's own template. The image is the template's, so it is not said again.
func (plan *launchPlan) launchOwn(class *awsv1.EC2NodeClass, g *group) error {
	own := class.Status.LaunchTemplate
	if own == nil {
		return &cloud.Error{Op: "choosing a launch template", Class: cloud.ClassNotReady, Reason: awsv1.ReasonLaunchTemplateNotFound,
			Err: fmt.Errorf("the launch template of EC2NodeClass %q has not been found yet", class.Name)}
	}
	if plan.tenancy == awsv1.TenancyDedicated {
		return &cloud.Error{Op: "choosing a launch template", Class: cloud.Exhausted, Reason: awsv1.ReasonLaunchTemplateInvalid,
			Err: fmt.Errorf("EC2NodeClass %q launches from a launch template of yours, which can't be had with dedicated tenancy (%s)", class.Name, awsv1.LabelInstanceTenancy)}
	}
	plan.own, plan.image = own, g.image
	for i := range g.overrides {
		g.overrides[i].ImageID = ""
	}
	plan.request.Templates = append(plan.request.Templates, fleet.Template{ID: own.ID, Version: own.Version, Overrides: g.overrides})
	return nil
}

// ownRefused is the error of a launch from a user's own template. One that is gone can't be made again here, and a missing
// permission is most likely that for such templates.
func (p *Provider) ownRefused(own *awsv1.LaunchTemplate, err error) error {
	e, ok := errors.AsType[*cloud.Error](err)
	switch {
	case lacksTemplate(err):
		p.own.Forget()
		return &cloud.Error{Op: "launching", Class: cloud.ClassNotReady, Reason: awsv1.ReasonLaunchTemplateNotFound,
			Err: fmt.Errorf("launch template %s (%s), version %d, is not there any more: %w", own.Name, own.ID, own.Version, err)}
	case ok && awserr.LacksPermission(e):
		return &cloud.Error{Op: e.Op, Class: e.Class, Reason: e.Reason, RetryAfter: e.RetryAfter, Err: fmt.Errorf("%w%s", e.Err, owntemplate.Hint)}
	}
	return err
}

// Tags that EC2 puts on instances itself.
const (
	tagTemplateID      = "aws:ec2launchtemplate:id"
	tagTemplateVersion = "aws:ec2launchtemplate:version"
)

// launchedFrom is the version of the user's own template that an instance was launched from; empty for instances of
// templates of ours. One that was found again says itself what it is of, as the version may have changed since.
func launchedFrom(tags map[string]string, own *awsv1.LaunchTemplate) string {
	if own == nil {
		return ""
	}
	if id, version := tags[tagTemplateID], tags[tagTemplateVersion]; id != "" && version != "" {
		return strings.Join([]string{id, version}, ":")
	}
	return own.Ref()
}
