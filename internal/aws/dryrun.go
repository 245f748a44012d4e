package aws

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/aws/awserr"
	"github.com/kerf-sh/kerf/internal/aws/launchtemplate"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

const (
	// trustDryRun is how long a class that passed is not tried again while it resolves to the same, retryDryRun how long
	// one that did not.
	trustDryRun = time.Hour
	retryDryRun = time.Minute
	// retrySoon is for what fixes itself in seconds.
	retrySoon = 2 * time.Second
)

// checks remembers the outcome of dry runs by class.
type checks struct {
	mu    sync.Mutex
	known map[string]check
}

type check struct {
	template string   // name, which is a hash of all that the class resolves to
	types    []string // that were to be tried
	passed   string   // the one of them that was not refused, empty if all were
	last     string   // the type that passed last, now or before
	finding  cloud.Finding
	until    time.Time
}

// get gives what came of the last trials. They count as long as the type that passed is one that would be tried now; after a refusal, as
// long as the same types would be.
func (c *checks) get(class *awsv1.EC2NodeClass, template string, probes []probe, now time.Time) (cloud.Finding, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, ok := c.known[classKey(class)]
	present := names(probes)
	return k.finding, ok && k.template == template && now.Before(k.until) && (slices.Contains(present, k.passed) || slices.Equal(present, k.types))
}

func (c *checks) put(class *awsv1.EC2NodeClass, k check) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		c.known = map[string]check{}
	}
	k.last = cmp.Or(k.passed, c.known[classKey(class)].last)
	c.known[classKey(class)] = k
}

// passed is the type that passed the last trials of a class that any type passed, empty if there were none.
func (c *checks) passed(class *awsv1.EC2NodeClass) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known[classKey(class)].last
}

func (c *checks) forget(class *awsv1.EC2NodeClass) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.known, classKey(class))
}

// dryRuns asks EC2 whether it would let us launch instances of the class: whether the permissions are there, and whether
// what the class selects fits together.
func (p *Provider) dryRuns(ctx context.Context, class *awsv1.EC2NodeClass, t *launchtemplate.Template, probes []probe, all bool) cloud.Finding {
	if f, ok := p.checks.get(class, t.Name, probes, p.now()); ok {
		return f
	}
	k := check{template: t.Name, types: names(probes)}
	f := p.try(class, &k, probes, all, []trial{
		{"CreateLaunchTemplate", awsv1.ReasonCreateLaunchTemplateAuthCheckFailed, func() error { return p.templates.Ensure(ctx, t) }},
		{"CreateFleet", awsv1.ReasonCreateFleetAuthCheckFailed, func() error {
			return withEach(probes, func(x *probe) error { return p.tryFleet(ctx, class, t, x) })
		}},
		{"RunInstances", awsv1.ReasonRunInstancesAuthCheckFailed, func() error {
			return withEach(probes, func(x *probe) error { return p.tryRun(ctx, class, t, x) })
		}},
	})
	if k.passed != "" {
		p.learnSpotTags(ctx, class, t, &probes[0])
	}
	if !f.OK && f.missing {
		p.templates.Forget(t.Name)
	}
	p.checks.put(class, k)
	return f.Finding
}

// trial is one call that changes nothing.
type trial struct {
	api, reason string
	try         func() error
}

// verdict is the outcome of trials.
type verdict struct {
	cloud.Finding
	missing bool // a template that was named is not there
	denied  bool
}

// reasonTypesForbidden is the reason of a class that is ready although a policy forbids the instance types that it was tried with.
const reasonTypesForbidden = "InstanceTypesForbidden"

// try makes trials up to the first that fails, and notes in k the outcome and how long it is worth something. That a policy forbids the
// types that were tried is no failure as long as there are others, which all tells: launches find out which are allowed.
func (p *Provider) try(class *awsv1.EC2NodeClass, k *check, probes []probe, all bool, steps []trial) (f verdict) {
	f.Finding = cloud.Finding{Condition: awsv1.ConditionTypeValidationSucceeded, OK: true}
	until := p.now().Add(trustDryRun)
	for _, s := range steps {
		err := s.try()
		if err == nil {
			continue
		}
		if cloud.ClassOf(err) == cloud.Exhausted {
			// Nothing is wrong with the class: there is too little of something now, in the one place that was tried.
			until = p.now().Add(retryDryRun)
			continue
		}
		if !all && typeRefused(err) && awserr.Forbids(awserr.Message(err)) {
			f.Reason, f.Message = reasonTypesForbidden, fmt.Sprintf("others that NodePools allow are launched if a policy allows them; a trial of ec2:%s failed: %v", s.api, err)
			until = p.now().Add(retryDryRun)
			continue
		}
		f.OK, f.Reason, f.Message = false, s.reason, fmt.Sprintf("a trial of ec2:%s for EC2NodeClass %q failed: %v", s.api, class.Name, err)
		until = p.now().Add(retryDryRun)
		e, _ := errors.AsType[*cloud.Error](err)
		switch {
		case e == nil, awserr.Unanswered(err):
			f.Unknown = true
		case e.Class == cloud.NotFound:
			f.missing = true
			f.Unknown, until = true, p.now().Add(retrySoon)
		case e.Class == cloud.Denied:
			f.denied = true
		case e.Reason == awserr.ReasonInstanceProfileNameInvalid && class.Spec.Role != "":
			// EC2 takes a while to know a profile that was just made.
			f.Unknown, until = true, p.now().Add(retrySoon)
		}
		break
	}
	k.finding, k.until = f.Finding, until
	if f.OK && f.Reason == "" {
		k.passed = string(probes[0].instanceType)
	}
	return f
}

func (p *Provider) tryFleet(ctx context.Context, class *awsv1.EC2NodeClass, t *launchtemplate.Template, x *probe) error {
	tags := launchtemplate.Tags(class, p.clusterTag(), "")
	in := &ec2.CreateFleetInput{
		DryRun: new(true),
		Type:   types.FleetTypeInstant,
		TargetCapacitySpecification: &types.TargetCapacitySpecificationRequest{
			TotalTargetCapacity: new(int32(1)), DefaultTargetCapacityType: types.DefaultTargetCapacityTypeOnDemand,
		},
		LaunchTemplateConfigs: []types.FleetLaunchTemplateConfigRequest{{
			LaunchTemplateSpecification: &types.FleetLaunchTemplateSpecificationRequest{LaunchTemplateName: &t.Name, Version: new("$Latest")},
			Overrides: []types.FleetLaunchTemplateOverridesRequest{{
				SubnetId: &class.Status.Subnets[0].ID, InstanceType: x.instanceType, ImageId: x.imageID(),
			}},
		}},
		TagSpecifications: tagSpecs(tags, types.ResourceTypeInstance, types.ResourceTypeVolume, types.ResourceTypeFleet),
	}
	_, err := p.session.EC2.CreateFleet(ctx, in)
	return dryRunError(fmt.Sprintf("dry run of CreateFleet for %s", x.instanceType), err)
}

// tryRun is the only call that checks iam:PassRole and whether security groups and subnets are of one network.
func (p *Provider) tryRun(ctx context.Context, class *awsv1.EC2NodeClass, t *launchtemplate.Template, x *probe) error {
	tags := launchtemplate.Tags(class, p.clusterTag(), "")
	return inEach(class.Status.Subnets, func(subnet string) error {
		_, err := p.session.EC2.RunInstances(ctx, &ec2.RunInstancesInput{
			DryRun: new(true), MinCount: new(int32(1)), MaxCount: new(int32(1)),
			LaunchTemplate:    &types.LaunchTemplateSpecification{LaunchTemplateName: &t.Name, Version: new("$Latest")},
			InstanceType:      x.instanceType,
			ImageId:           x.imageID(),
			NetworkInterfaces: probeInterfaces(t, subnet),
			TagSpecifications: tagSpecs(tags, types.ResourceTypeInstance, types.ResourceTypeVolume),
		})
		return dryRunError(fmt.Sprintf("dry run of RunInstances for %s in %s", x.instanceType, subnet), err)
	})
}

// inEach makes a trial in one subnet after another. One that works is enough; a permission that is missing in all of them is not asked
// for again.
//
// Errors: that of the first subnet, or the refusal that holds for all.
func inEach(subnets []awsv1.Subnet, try func(subnet string) error) error {
	var first error
	for _, s := range subnets {
		err := try(s.ID)
		if err == nil {
			return nil
		}
		if awserr.LacksPermission(err) && !awserr.RefusesSubnet(awserr.Message(err)) {
			return err
		}
		first = cmp.Or(first, err)
	}
	return first
}

func dryRunError(op string, err error) error {
	if awserr.IsDryRunOK(err) {
		return nil
	}
	return awserr.Wrap(op, err)
}

func tagSpecs(tags map[string]string, resources ...types.ResourceType) []types.TagSpecification {
	list := launchtemplate.EC2Tags(tags)
	out := make([]types.TagSpecification, len(resources))
	for i, r := range resources {
		out[i] = types.TagSpecification{ResourceType: r, Tags: list}
	}
	return out
}
