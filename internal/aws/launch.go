package aws

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/aws/awserr"
	"github.com/kerf-sh/kerf/internal/aws/fleet"
	"github.com/kerf-sh/kerf/internal/aws/inventory"
	"github.com/kerf-sh/kerf/internal/aws/launchtemplate"
	"github.com/kerf-sh/kerf/internal/aws/network"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/guard"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// Launch implements cloud.Provider.
func (p *Provider) Launch(ctx context.Context, claim *karpv1.NodeClaim, class *awsv1.EC2NodeClass) (*cloud.Instance, error) {
	op := fmt.Sprintf("launching NodeClaim %q", claim.Name)
	if err := p.usable(class); err != nil {
		return nil, awserr.Wrap(op, err)
	}
	if err := p.networks.Know(ctx, class); err != nil {
		p.log.Warn("which subnets of an EC2NodeClass are on Outposts is not known; instances may be launched there", "ec2nodeclass", class.Name, "error", err)
	}
	types, err := p.shown(ctx, claim, class)
	if err != nil {
		return nil, awserr.Wrap(op, err)
	}
	plan, err := p.plan(ctx, claim, class, types)
	if err != nil {
		p.partitions.Refused(string(claim.UID))
		return nil, awserr.Wrap(op, err)
	}
	launched, err := p.launchOne(ctx, claim, plan)
	p.settlePartition(claim, launched, err)
	if err != nil {
		return nil, awserr.Wrap(op, err)
	}
	p.sold(launched)
	m := newInstance(launched, claim, class, types, plan)
	sayOverlays(m, types, plan)
	return m, nil
}

// Find implements cloud.Provider. Of the instance it tells what the launch request recorded.
func (p *Provider) Find(ctx context.Context, claim *karpv1.NodeClaim) (*cloud.Instance, error) {
	found, err := p.launcher.Found(ctx, fleet.Order{UID: string(claim.UID), Name: claim.Name, Created: claim.CreationTimestamp.Time})
	if err != nil {
		return nil, err
	}
	if found == nil {
		return nil, &cloud.Error{Op: fmt.Sprintf("looking for the instance of NodeClaim %q", claim.Name), Class: cloud.NotFound, Err: errors.New("none was launched for it")}
	}
	return &cloud.Instance{
		ProviderID: inventory.ProviderID(found.Zone, found.InstanceID), InstanceID: found.InstanceID, InstanceType: found.InstanceType, ImageID: found.ImageID,
		Zone: found.Zone, SubnetID: found.SubnetID, CapacityType: found.CapacityType, LaunchedAt: found.LaunchedAt, Tags: found.Tags, LaunchID: found.Tags[fleet.TagLaunch], Claim: claim.Name,
	}, nil
}

// launch makes sure of the templates and launches. A template that somebody else deleted is made again, once.
func (p *Provider) launchOne(ctx context.Context, claim *karpv1.NodeClaim, plan *launchPlan) (*fleet.Launched, error) {
	order := fleet.Order{UID: string(claim.UID), Name: claim.Name, Created: claim.CreationTimestamp.Time, Request: plan.request, Addresses: plan.addresses}
	for again := false; ; again = true {
		if err := p.ensure(ctx, plan.templates); err != nil {
			return nil, err
		}
		launched, err := p.launcher.Launch(ctx, order)
		if err == nil {
			return launched, nil
		}
		if plan.own != nil {
			return nil, p.ownRefused(plan.own, err)
		}
		if !lacksTemplate(err) {
			return nil, err
		}
		for _, t := range plan.templates {
			p.templates.Forget(t.Name)
		}
		if again {
			return nil, &cloud.Error{Op: "launching", Class: cloud.Unavailable, Reason: awserr.ReasonLaunchTemplateNotFound,
				Err: fmt.Errorf("launch templates vanish as soon as they are made; does another controller use cluster name %q? %w", p.opts.ClusterName, err)}
		}
	}
}

// lacksTemplate reports whether a launch failed because a launch template does not exist.
func lacksTemplate(err error) bool {
	e, ok := errors.AsType[*cloud.Error](err)
	return ok && e.Class == cloud.NotFound && e.Reason == awserr.ReasonLaunchTemplateNotFound
}

func (p *Provider) ensure(ctx context.Context, templates []*launchtemplate.Template) error {
	errs := make([]error, len(templates))
	var g guard.Group
	for i, t := range templates {
		p.opts.UserData(t.Class, t.UserDataBytes)
		g.Go("aws.launchtemplate", func() error {
			errs[i] = guard.Run("aws.launchtemplate", func() error { return p.templates.Ensure(ctx, t) })
			return nil
		})
	}
	_ = g.Wait() // each has its own
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// usable says why a class can't be launched from, nil if it can.
func (p *Provider) usable(class *awsv1.EC2NodeClass) error {
	no := func(class cloud.ErrorClass, reason, format string, args ...any) error {
		return &cloud.Error{Op: "checking the node class", Class: class, Reason: reason, Err: fmt.Errorf(format, args...)}
	}
	if !class.DeletionTimestamp.IsZero() {
		return no(cloud.ClassNotReady, "NodeClassTerminating", "EC2NodeClass %q is being deleted", class.Name)
	}
	if err := launchtemplate.CheckTags(class); err != nil {
		return no(cloud.ClassNotReady, awsv1.ReasonTagValidationFailed, "EC2NodeClass %q: %w", class.Name, err)
	}
	for i := range class.Status.Conditions {
		c := &class.Status.Conditions[i]
		if c.Type != awsv1.ConditionTypeReady {
			continue
		}
		switch {
		case c.IsFalse():
			return no(cloud.ClassNotReady, "NodeClassNotReady", "EC2NodeClass %q is not ready: %s", class.Name, c.Message)
		case c.IsUnknown():
			return no(cloud.Unavailable, "NodeClassReadinessUnknown", "it is not known whether EC2NodeClass %q is ready: %s", class.Name, c.Message)
		case c.ObservedGeneration != class.Generation:
			return no(cloud.Unavailable, "NodeClassReadinessUnknown", "EC2NodeClass %q was changed and is not ready again yet", class.Name)
		case !class.PlacementGroupKnown():
			return no(cloud.Unavailable, "NodeClassReadinessUnknown", "EC2NodeClass %q selects a placement group that its status lacks; it is looked up within some seconds, and can't be kept where Kerf's CRDs are not applied", class.Name)
		}
		return nil
	}
	return no(cloud.Unavailable, "NodeClassReadinessUnknown", "EC2NodeClass %q has not been looked at yet", class.Name)
}

// place chooses subnets for a fleet, in the zones that it may go to.
func (p *Provider) place(r *fleet.Request, n fleet.Need) fleet.Placement {
	held := p.ledger.Reserve(reachable(r), network.Need{Nodes: n.Instances, Each: n.Each, Planned: n.Planned, Pods: n.Likely})
	return fleet.Placement{Subnets: held.Subnets, Settle: held.Settle}
}

// reachable are the subnets in zones that a fleet is asked for in. The others have no say in which of them is full.
func reachable(r *fleet.Request) []awsv1.Subnet {
	zones := map[string]bool{}
	for i := range r.Templates {
		for _, o := range r.Templates[i].Overrides {
			zones[o.Zone] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(r.Subnets), func(s awsv1.Subnet) bool { return !zones[s.Zone] })
}

// newInstance is what the lifecycle controller writes into the claim.
func newInstance(b *fleet.Launched, claim *karpv1.NodeClaim, class *awsv1.EC2NodeClass, types []*catalog.Type, plan *launchPlan) *cloud.Instance {
	m := &cloud.Instance{
		ProviderID: inventory.ProviderID(b.Zone, b.InstanceID), InstanceID: b.InstanceID, InstanceType: b.InstanceType,
		ImageID: cmp.Or(b.ImageID, plan.image), Zone: b.Zone, CapacityType: b.CapacityType, SubnetID: b.SubnetID, LaunchedAt: b.LaunchedAt,
		State: "pending", Tags: b.Tags, LaunchID: b.Tags[fleet.TagLaunch], Claim: claim.Name, Pool: claim.Labels[karpv1.NodePoolLabelKey],
		Labels: map[string]string{}, Annotations: map[string]string{},
	}
	for _, s := range class.Status.Subnets {
		if s.ID == b.SubnetID {
			m.ZoneID = s.ZoneID
		}
	}
	if i := slices.IndexFunc(types, func(t *catalog.Type) bool { return t.Name == b.InstanceType }); i >= 0 {
		describe(m, types[i])
		m.Price = priceOf(types[i], b)
	}
	setIf(m.Labels, corev1.LabelInstanceTypeStable, b.InstanceType)
	setIf(m.Labels, corev1.LabelTopologyZone, b.Zone)
	setIf(m.Labels, awsv1.LabelTopologyZoneID, m.ZoneID)
	setIf(m.Labels, karpv1.CapacityTypeLabelKey, b.CapacityType)
	setIf(m.Labels, awsv1.LabelInstanceTenancy, plan.tenancy)
	placementLabels(m, b, plan)
	m.ReservationID = b.ReservationID
	maps.Copy(m.Labels, reservationLabels(b.ReservationID, class))
	for _, key := range []string{awsv1.AnnotationEC2NodeClassHash, awsv1.AnnotationEC2NodeClassHashVersion} {
		setIf(m.Annotations, key, class.Annotations[key])
	}
	if class.Spec.LaunchTemplate == nil {
		setIf(m.Annotations, awsv1.AnnotationSecurityGroups, strings.Join(class.SecurityGroupIDs(), ","))
	}
	setIf(m.Annotations, awsv1.AnnotationInstanceProfile, class.Status.InstanceProfile)
	setIf(m.Annotations, awsv1.AnnotationLaunchTemplate, launchedFrom(b.Tags, plan.own))
	if !wantsEFA(claim) {
		// Its interfaces were not asked for, so the node will not have it.
		delete(m.Capacity, awsv1.ResourceEFA)
		delete(m.Allocatable, awsv1.ResourceEFA)
	}
	return m
}

// priceOf is what the offering launched costs, 0 when it is not known.
func priceOf(t *catalog.Type, b *fleet.Launched) catalog.MicroUSD {
	for i := range t.Offerings {
		o := &t.Offerings[i]
		if o.Zone == b.Zone && o.CapacityType == b.CapacityType && o.ReservationID == b.ReservationID && o.Price < catalog.NoPrice {
			return o.Price
		}
	}
	return 0
}

// describe fills in what follows from the type.
func describe(m *cloud.Instance, t *catalog.Type) {
	for _, r := range t.Requirements {
		if r.Operator == requirement.In && len(r.Values) == 1 {
			m.Labels[r.Key] = r.Values[0]
		}
	}
	m.Capacity, m.Allocatable = maps.Clone(t.Capacity), t.Allocatable()
}

func setIf(m map[string]string, key, value string) {
	if value != "" {
		m[key] = value
	}
}

func wantsEFA(claim *karpv1.NodeClaim) bool {
	q, ok := claim.Spec.Resources.Requests[awsv1.ResourceEFA]
	return ok && !q.IsZero()
}
