package aws

import (
	"context"
	"errors"
	"fmt"
	"strings"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/aws/awserr"
	"github.com/kerf-sh/kerf/internal/aws/instancetype"
	"github.com/kerf-sh/kerf/internal/aws/launchtemplate"
	"github.com/kerf-sh/kerf/internal/aws/userdata"
	"github.com/kerf-sh/kerf/internal/guard"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// reasonProfileUnknown is why it is not known whether a class has an instance profile.
const reasonProfileUnknown = "InstanceProfileResolutionFailed"

// Resolve implements cloud.Provider.
func (p *Provider) Resolve(ctx context.Context, class *awsv1.EC2NodeClass) (*cloud.Resolution, error) {
	if class.Spec.LaunchTemplate != nil {
		return p.resolveOwn(ctx, class)
	}
	was := &class.Status
	r := &cloud.Resolution{
		Subnets: was.Subnets, SecurityGroups: was.SecurityGroups, AMIs: was.AMIs, InstanceProfile: was.InstanceProfile,
		CapacityReservations: was.CapacityReservations, PlacementGroup: was.PlacementGroup,
	}
	var subnets, groups, images, instanceProfile, reserved, placed cloud.Finding
	g := findings{class: class}
	g.find(awsv1.ConditionTypeSubnetsReady, &subnets, func() { r.Subnets, subnets = p.networks.Subnets(ctx, class) })
	g.find(awsv1.ConditionTypeSecurityGroupsReady, &groups, func() { r.SecurityGroups, groups = p.networks.SecurityGroups(ctx, class) })
	g.find(awsv1.ConditionTypeAMIsReady, &images, func() { r.AMIs, images = p.resolveImages(ctx, class) })
	g.find(awsv1.ConditionTypeInstanceProfileReady, &instanceProfile, func() { r.InstanceProfile, instanceProfile = p.resolveProfile(ctx, class) })
	g.find(awsv1.ConditionTypeCapacityReservationsReady, &reserved, func() { r.CapacityReservations, reserved = p.resolveReservations(ctx, class) })
	g.find(awsv1.ConditionTypePlacementGroupReady, &placed, func() { r.PlacementGroup, placed = p.placements.Resolve(ctx, class) })
	g.wait()
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("resolving EC2NodeClass %q: %w", class.Name, err)
	}
	r.Findings = []cloud.Finding{subnets, groups, images, instanceProfile, placed}
	r.Findings = append(r.Findings, p.validate(ctx, class, r))
	if p.opts.ReservedCapacity {
		r.Findings = append(r.Findings, reserved)
	}
	if ignored := userdata.Ignored(userdataInput(class, userdata.Cluster{}, nil, nil, 0)); ignored != "" {
		r.Ignored = append(r.Ignored, ignored)
	}
	return r, nil
}

// findings makes checks of a class beside each other. One that panics leaves its condition Unknown, and what was found before
// stands; the others are not touched.
type findings struct {
	class *awsv1.EC2NodeClass
	group guard.Group
}

// reasonInternalError is why a check could not be made that should have been.
const reasonInternalError = "InternalError"

func (g *findings) find(condition string, found *cloud.Finding, check func()) {
	g.group.Go("aws.nodeclass", func() error {
		if err := guard.Run("aws.nodeclass", func() error { check(); return nil }); err != nil {
			*found = cloud.Finding{Condition: condition, Unknown: true, Reason: reasonInternalError,
				Message: fmt.Sprintf("EC2NodeClass %s could not be checked, which is tried again: %v", g.class.Name, err)}
		}
		return nil
	})
}

func (g *findings) wait() { _ = g.group.Wait() }

func (p *Provider) resolveImages(ctx context.Context, class *awsv1.EC2NodeClass) ([]awsv1.AMI, cloud.Finding) {
	version, err := p.kubernetesVersion(ctx)
	if err != nil {
		return class.Status.AMIs, cloud.Finding{
			Condition: awsv1.ConditionTypeAMIsReady, Unknown: true, Reason: "AMIResolutionFailed",
			Message: fmt.Sprintf("the Kubernetes version, on which images depend, could not be found out: %v", err),
		}
	}
	return p.images.Resolve(ctx, class, version)
}

func (p *Provider) resolveProfile(ctx context.Context, class *awsv1.EC2NodeClass) (string, cloud.Finding) {
	f := cloud.Finding{Condition: awsv1.ConditionTypeInstanceProfileReady}
	if p.opts.ReadOnly && class.Spec.InstanceProfile == nil && class.Spec.Role != "" {
		f.OK = true
		return p.profiles.Name(class), f
	}
	name, err := p.profiles.Ensure(ctx, class)
	if err == nil {
		f.OK = true
		return name, f
	}
	e, ok := errors.AsType[*cloud.Error](err)
	f.Message = fmt.Sprintf("EC2NodeClass %q: %v", class.Name, err)
	if ok && (e.Class == cloud.Invalid || awserr.LacksPermission(err)) {
		f.Reason = e.Reason
		// Karpenter leaves the condition Unknown as long as a profile could not be had. One that was there and is lost is
		// known to be: instances would start and never join.
		if f.Unknown = e.Reason != awsv1.ReasonSpecInvalid && !p.profileJudged(class); f.Unknown {
			return class.Status.InstanceProfile, f
		}
		return "", f
	}
	f.Unknown, f.Reason = true, reasonProfileUnknown
	if p.opts.IsolatedVPC && class.Spec.Role != "" {
		f.Message += "; IAM can't be reached from an isolated VPC: use spec.instanceProfile in place of spec.role"
	}
	return class.Status.InstanceProfile, f
}

// profileJudged reports whether the class's profile was found, or found lost, for the spec that it has.
func (p *Provider) profileJudged(class *awsv1.EC2NodeClass) bool {
	was := class.StatusConditions(p.opts.ReservedCapacity).Get(awsv1.ConditionTypeInstanceProfileReady)
	return (was.IsTrue() || was.IsFalse()) && was.ObservedGeneration == class.Generation
}

// validate checks what is left to check once everything is resolved, cheapest first.
func (p *Provider) validate(ctx context.Context, class *awsv1.EC2NodeClass, r *cloud.Resolution) cloud.Finding {
	no := func(reason, format string, args ...any) cloud.Finding {
		return cloud.Finding{Condition: awsv1.ConditionTypeValidationSucceeded, Reason: reason, Message: fmt.Sprintf(format, args...)}
	}
	if err := launchtemplate.CheckTags(class); err != nil {
		return no(awsv1.ReasonTagValidationFailed, "EC2NodeClass %q: %v", class.Name, err)
	}
	if _, err := instancetype.ConfigOf(class, p.shapeOptions(class)); err != nil {
		return no(awsv1.ReasonSpecInvalid, "%v", err)
	}
	resolved := class.DeepCopy()
	resolved.Status.SecurityGroups, resolved.Status.AMIs = r.SecurityGroups, r.AMIs
	resolved.Status.Subnets, resolved.Status.InstanceProfile = p.networks.ForLaunches(r.Subnets), r.InstanceProfile
	resolved.Status.PlacementGroup = r.PlacementGroup
	cluster, err := p.clusterInput(ctx, class)
	if err != nil {
		f := no(awsv1.ReasonClusterCIDRResolutionFailed, "EC2NodeClass %q: %v", class.Name, err)
		f.Unknown = awserr.Unanswered(err)
		return f
	}
	probes, all, unknown := p.probes(ctx, resolved)
	template, err := p.probeTemplate(resolved, cluster, probes[0].image)
	if err != nil {
		reason := awsv1.ReasonSpecInvalid
		if e, ok := errors.AsType[*cloud.Error](err); ok && e.Reason != "" {
			reason = e.Reason
		}
		return no(reason, "EC2NodeClass %q: %v", class.Name, err)
	}
	if f, wait := dependencies(r.Findings); wait {
		return f
	}
	if p.opts.DisableDryRun || p.opts.ReadOnly {
		return cloud.Finding{Condition: awsv1.ConditionTypeValidationSucceeded, OK: true}
	}
	if unknown != nil {
		return typesUnknown(class, unknown)
	}
	return p.dryRuns(ctx, resolved, template, probes, all)
}

// typesUnknown is the finding while it is not known which types a class can be tried with.
func typesUnknown(class *awsv1.EC2NodeClass, err error) cloud.Finding {
	return cloud.Finding{Condition: awsv1.ConditionTypeValidationSucceeded, Unknown: true, Reason: reasonTypes,
		Message: fmt.Sprintf("EC2NodeClass %q could not be tried, as it is not known with which instance types: %v", class.Name, err)}
}

// dependencies is the finding while something that the class selects is not there.
func dependencies(findings []cloud.Finding) (cloud.Finding, bool) {
	var missing, unknown []string
	for _, f := range findings {
		switch {
		case f.Unknown:
			unknown = append(unknown, f.Condition)
		case !f.OK:
			missing = append(missing, f.Condition)
		}
	}
	f := cloud.Finding{Condition: awsv1.ConditionTypeValidationSucceeded, Reason: awsv1.ReasonDependenciesNotReady}
	if len(missing) == 0 && len(unknown) == 0 {
		return f, false
	}
	f.Unknown = len(missing) == 0
	f.Message = "waiting for " + strings.Join(append(missing, unknown...), ", ")
	return f, true
}

// probeTemplate is a template like those that instances of the class are launched from, for checking.
func (p *Provider) probeTemplate(class *awsv1.EC2NodeClass, cluster userdata.Cluster, image string) (*launchtemplate.Template, error) {
	data, err := userdata.Build(userdataInput(class, cluster, nil, nil, 0))
	if err != nil {
		return nil, err
	}
	in := p.templateInput(class, cluster, launchtemplate.Tags(class, p.clusterTag(), ""), data)
	in.ImageID = image
	return launchtemplate.Build(in)
}
