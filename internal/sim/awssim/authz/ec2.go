package authz

import (
	"maps"
	"net/url"

	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// Actions that are checked in more than one operation.
const (
	runInstances = "ec2:RunInstances"
	createFleet  = "ec2:CreateFleet"
	createTags   = "ec2:CreateTags"
	passRole     = "iam:PassRole"
)

func ec2Rules() map[string]rule {
	out := map[string]rule{
		runInstances:               runRule,
		createFleet:                fleetRule,
		"ec2:CreateLaunchTemplate": templateRule,
		createTags:                 func(c *call) []check { return c.tagging(createTags) },
		"ec2:DeleteTags":           func(c *call) []check { return c.tagging("ec2:DeleteTags") },
	}
	each(out, "ec2", anywhere,
		"DescribeAvailabilityZones", "DescribeCapacityReservations", "DescribeImages", "DescribeInstanceStatus",
		"DescribeInstanceTypeOfferings", "DescribeInstanceTypes", "DescribeInstances", "DescribeLaunchTemplateVersions",
		"DescribeLaunchTemplates", "DescribeNetworkInterfaces", "DescribePlacementGroups", "DescribeRegions", "DescribeSecurityGroups",
		"DescribeSpotInstanceRequests", "DescribeSpotPriceHistory", "DescribeSubnets", "DescribeTags", "DescribeVolumes", "DescribeVpcs",
		"GetEbsDefaultKmsKeyId", "GetEbsEncryptionByDefault")
	each(out, "ec2", func(action string) rule {
		return func(c *call) []check { return c.existing(action, []string{c.r.Form.Get("SubnetId")}, nil) }
	}, "ModifySubnetAttribute")
	each(out, "ec2", func(action string) rule {
		return func(c *call) []check { return c.existing(action, wire.List(c.r.Form, "InstanceId"), nil) }
	}, "TerminateInstances", "StopInstances", "StartInstances", "RebootInstances")
	each(out, "ec2", onTemplate, "CreateLaunchTemplateVersion", "DeleteLaunchTemplate", "ModifyLaunchTemplate")
	return out
}

// ec2ARN makes the ARN of a resource of EC2. Images and snapshots belong to no account there.
func (c *call) ec2ARN(kind, id, owner string) string {
	account := owner
	switch {
	case kind == "image" || kind == "snapshot":
		account = ""
	case owner == "":
		account = c.w.Account()
	}
	return "arn:" + c.w.Partition() + ":ec2:" + c.w.Region() + ":" + account + ":" + kind + "/" + id
}

// resourceARN is the ARN of a resource that exists. Placement groups are named there, not numbered.
func (c *call) resourceARN(r *world.Resource) string {
	if arn, ok := c.arns[r]; ok {
		return arn
	}
	id := r.ID
	if r.Kind == "placement-group" {
		id = r.Name
	}
	owner := r.Owner
	if r.Kind != "capacity-reservation" { // the only kind that is shared between accounts here
		owner = ""
	}
	arn := c.ec2ARN(r.Kind, id, owner)
	c.arns[r] = arn
	return arn
}

// describe sets the keys that a resource has because of what it is.
func describe(c *call, k iampolicy.Context, r *world.Resource) {
	setTags(k, resourceTag, r.Tags)
	setTags(k, ec2ResourceTag, r.Tags)
	set := func(key, v string) {
		if v != "" {
			k[key] = []string{v}
		}
	}
	set("ec2:availabilityzone", r.Zone)
	if r.VPCID != "" {
		set("ec2:vpc", c.ec2ARN("vpc", r.VPCID, ""))
	}
	switch r.Kind {
	case "image":
		set("ec2:imageid", r.ID)
		set("ec2:imagetype", "machine")
		set("ec2:owner", r.Owner)
		set("ec2:rootdevicetype", "ebs")
		set("ec2:public", yes(r.Public))
		return
	case "subnet":
		set("ec2:subnetid", r.ID)
	case "security-group":
		set("ec2:securitygroupid", r.ID)
	case "placement-group":
		set("ec2:placementgroupname", r.Name)
	case "instance":
		i := r.Instance
		set("ec2:instanceid", i.ID)
		set("ec2:instancetype", i.Type)
		set("ec2:instanceprofile", i.ProfileARN)
		set("ec2:rootdevicetype", "ebs")
		set("ec2:tenancy", tenancy(&i.Launch))
		if m := i.Launch.MetadataOptions; m != nil {
			set("ec2:metadatahttptokens", m.HTTPTokens)
		}
	}
	set("aws:resourceaccount", r.Owner)
}

func yes(b bool) string {
	if b {
		return "true"
	}
	return "false"
}

func tenancy(d *world.LaunchData) string {
	if d.Placement != nil && d.Placement.Tenancy != "" {
		return d.Placement.Tenancy
	}
	return "default"
}

// existing checks an action on each of some resources. Of those that do not exist the handler speaks.
func (c *call) existing(action string, ids []string, more func(iampolicy.Context)) []check {
	var out []check
	for _, id := range ids {
		r, ok := c.w.Resource(id)
		if !ok {
			continue
		}
		out = append(out, check{action: action, resource: c.resourceARN(&r), keys: func(k iampolicy.Context) {
			describe(c, k, &r)
			if more != nil {
				more(k)
			}
		}})
	}
	return out
}

// tagging checks the change of tags of resources that exist.
func (c *call) tagging(action string) []check {
	tags := formTags(c.r.Form, "Tag")
	return c.existing(action, wire.List(c.r.Form, "ResourceId"), func(k iampolicy.Context) { setRequested(k, tags) })
}

// onTemplate is the rule of an action on one launch template, named by id or name.
func onTemplate(action string) rule {
	return func(c *call) []check {
		t, err := c.w.Template(world.TemplateRef{ID: c.text("LaunchTemplateId"), Name: c.text("LaunchTemplateName")})
		if err != nil {
			return nil // the handler says so
		}
		return c.existing(action, []string{t.ID}, nil)
	}
}

// templateRule: a new template is judged by the tags that it is to get. What is in it is judged when it is used.
func templateRule(c *call) []check {
	tags := newTagSet(specTags(c.r.Form, "launch-template"))
	return c.made(nil, "ec2:CreateLaunchTemplate", "CreateLaunchTemplate", "launch-template", tags, "", "", nil)
}

// specTags are the tags that a call gives to the new resources of one kind.
func specTags(form url.Values, kind string) map[string]string {
	var out map[string]string
	for _, s := range wire.Structs(form, "TagSpecification") {
		if s.Get("ResourceType") != kind {
			continue
		}
		for k, v := range formTags(s, "Tag") {
			if out == nil {
				out = map[string]string{}
			}
			out[k] = v
		}
	}
	return out
}

// tagSet is the tags that a call gives to new resources of one kind, with the keys that conditions see.
type tagSet struct {
	tags map[string]string
	keys iampolicy.Context
}

func newTagSet(tags map[string]string) *tagSet {
	t := &tagSet{tags, iampolicy.Context{}}
	setRequested(t.keys, tags)
	return t
}

// made checks the making of a resource, and giving it tags, which is an action of its own. That the caller may is
// remembered under same, for the making together with what tells one such resource from another.
func (c *call) made(out []check, action, creating, kind string, tags *tagSet, same, one string, more func(iampolicy.Context)) []check {
	arn := c.ec2ARN(kind, "*", "")
	if !c.granted(action, arn, same+one) {
		out = append(out, check{action: action, resource: arn, same: same + one, keys: func(k iampolicy.Context) {
			maps.Copy(k, tags.keys)
			if more != nil {
				more(k)
			}
		}})
	}
	if len(tags.tags) > 0 && !c.granted(createTags, arn, same) {
		out = append(out, check{action: createTags, resource: arn, same: same, keys: func(k iampolicy.Context) {
			maps.Copy(k, tags.keys)
			k["ec2:createaction"] = []string{creating}
		}})
	}
	return out
}
