package authz

import (
	"strconv"

	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
	"github.com/kerf-sh/kerf/internal/awsmodel/partition"
	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// fleetRule judges the call itself: the fleet, its tags, and what the request names. What it launches is judged after
// that, place by place, in inParts; a dry run is not, as in EC2, where only a dry run of RunInstances finds a role that
// may not be passed.
//
// A template that does not exist is judged as launch-template/* with the tags of the request: callers try their
// permissions with made-up names.
func fleetRule(c *call) []check {
	in := c.fleet()
	out := c.made(nil, createFleet, "CreateFleet", "fleet", newTagSet(tagsOf(in.Tags, "fleet")), "", "", nil)
	seen := map[string]bool{}
	use := func(ids ...string) {
		for _, id := range ids {
			if id != "" && !seen[id] {
				seen[id] = true
				out = append(out, c.existing(createFleet, []string{id}, nil)...)
			}
		}
	}
	for _, config := range in.Configs {
		t, err := c.w.Template(config.Template)
		if err == nil {
			use(t.ID)
		} else if !seen["launch-template/*"] {
			seen["launch-template/*"] = true
			out = append(out, check{action: createFleet, resource: c.ec2ARN("launch-template", "*", ""),
				keys: func(k iampolicy.Context) { setRequested(k, allTags(in.Tags)) }})
		}
		for _, o := range config.Overrides {
			use(o.SubnetID, o.ImageID)
			if o.Placement != nil {
				use(o.Placement.GroupID)
			}
		}
	}
	return out
}

func (c *call) fleet() world.FleetRequest {
	if c.fleetRequest == nil {
		c.fleetRequest = &world.FleetRequest{}
		_ = wire.ReadForm(c.r.Form, c.fleetRequest) // the handler refuses what cannot be read
	}
	return *c.fleetRequest
}

// inParts judges what can be refused in part: the launches of an instant fleet.
//
// Source: messages in the field show RunInstances, CreateTags and PassRole refused as errors of fleets that were created;
// refusals of CreateFleet itself come as the call's.
func (c *call) inParts() {
	if c.r.Action() != createFleet || c.r.DryRun() {
		return
	}
	launches, err := c.w.FleetLaunches(c.fleet())
	if err != nil {
		return // the handler says so
	}
	c.base["aws:viaawsservice"] = []string{"true"}
	delete(c.base, "aws:sourceip") // the call comes from the fleet service
	for i := range launches {
		l := &launches[i]
		key := world.LaunchKey(l.CapacityType, l.Place)
		for _, k := range append(c.launch(l), c.volumeKeys(l)...) {
			if e := c.one(&k, key); e != nil {
				if c.r.Refused == nil {
					c.r.Refused = map[string]*wire.Error{}
				}
				c.r.Refused[key] = e
				break
			}
		}
	}
}

func runRule(c *call) []check {
	var in struct {
		world.LaunchData
		SubnetID string             `query:"SubnetId"`
		Template *world.TemplateRef `query:"LaunchTemplate"`
	}
	_ = wire.ReadForm(c.r.Form, &in) // the handler refuses what cannot be read
	l, err := c.w.RunLaunch(world.RunRequest{Template: in.Template, Data: in.LaunchData, SubnetID: in.SubnetID})
	if err != nil {
		return nil // the handler says so
	}
	return c.launch(&l)
}

// launch lists the checks of one launch: what it makes, what it uses, the tags that it gives and the role that it passes.
//
// Source: Service Authorization Reference for Amazon EC2, RunInstances, checked 2026-11.
func (c *call) launch(l *world.Launch) []check {
	// Checks that differ in nothing but the place are made once for a fleet.
	from := "call"
	if l.Template != nil {
		from = l.Template.ID + ":" + strconv.FormatInt(l.Version, 10)
	}
	from += "/" + l.CapacityType
	out := c.launched(nil, l, "instance", from, "/"+l.Data.InstanceType+zoneOf(l), func(k iampolicy.Context) { instanceKeys(c, k, l) })
	out = c.volumes(out, l, from)
	out = c.interfaces(out, l, from)
	if l.CapacityType == world.Spot {
		out = c.launched(out, l, "spot-instances-request", from, zoneOf(l), nil)
	}
	out = c.used(out, l, from)
	if l.RoleARN != "" && !c.granted(passRole, l.RoleARN, from) {
		out = append(out, c.passed(l.RoleARN, c.ec2Service(), c.ec2ARN("instance", "*", ""), from))
	}
	return out
}

func zoneOf(l *world.Launch) string {
	if l.Subnet == nil {
		return ""
	}
	return "/" + l.Subnet.Zone
}

// launched checks one kind of resource that a launch makes. one tells it from others of the launches that are alike.
func (c *call) launched(out []check, l *world.Launch, kind, same, one string, more func(iampolicy.Context)) []check {
	tags := c.tagSets[same+kind]
	if tags == nil {
		tags = newTagSet(tagsOf(l.Tags, kind))
		c.tagSets[same+kind] = tags
	}
	return c.made(out, runInstances, "RunInstances", kind, tags, same, one, func(k iampolicy.Context) {
		templateKeys(c, k, l, true)
		if l.Subnet != nil {
			k["ec2:availabilityzone"] = []string{l.Subnet.Zone}
		}
		if more != nil {
			more(k)
		}
	})
}

// templateKeys say which template a launch uses and whether a resource is named there and not in the call.
func templateKeys(c *call, k iampolicy.Context, l *world.Launch, there bool) {
	if l.Template != nil {
		k["ec2:launchtemplate"] = []string{c.resourceARN(l.Template)}
	}
	k["ec2:islaunchtemplateresource"] = []string{yes(there && l.Template != nil)}
}

func instanceKeys(c *call, k iampolicy.Context, l *world.Launch) {
	set := func(key, v string) {
		if v != "" {
			k[key] = []string{v}
		}
	}
	d := &l.Data
	set("ec2:instancetype", d.InstanceType)
	set("ec2:instancemarkettype", l.CapacityType)
	set("ec2:instanceprofile", l.ProfileARN)
	set("ec2:rootdevicetype", "ebs")
	set("ec2:tenancy", tenancy(d))
	set("ec2:ebsoptimized", yes(d.EbsOptimized != nil && *d.EbsOptimized))
	if m := d.MetadataOptions; m != nil {
		set("ec2:metadatahttptokens", m.HTTPTokens)
		set("ec2:metadatahttpendpoint", m.HTTPEndpoint)
		if m.HTTPPutResponseHopLimit != nil {
			set("ec2:metadatahttpputresponsehoplimit", strconv.Itoa(int(*m.HTTPPutResponseHopLimit)))
		}
	}
	if l.Group != nil {
		set("ec2:placementgroup", c.resourceARN(l.Group))
	}
}

// volumes checks each disk; the root disk is one even if the call says nothing about it.
func (c *call) volumes(out []check, l *world.Launch, same string) []check {
	at := zoneOf(l)
	if l.OwnDisks {
		at += "/" + strconv.Itoa(l.Place)
	}
	disks := l.Data.BlockDeviceMappings
	none := true
	for n := range disks {
		e := disks[n].Ebs
		if e == nil {
			continue
		}
		none = false
		out = c.launched(out, l, "volume", same, at+"/"+strconv.Itoa(n), func(k iampolicy.Context) { diskKeys(c, k, e) })
		if e.SnapshotID != "" {
			out = append(out, check{action: runInstances, resource: c.ec2ARN("snapshot", e.SnapshotID, ""), same: same + at,
				keys: func(k iampolicy.Context) { templateKeys(c, k, l, !l.OwnDisks) }})
		}
	}
	if none {
		out = c.launched(out, l, "volume", same, at, nil)
	}
	return out
}

func diskKeys(c *call, k iampolicy.Context, e *world.EbsDevice) {
	number := func(key string, v *int32) {
		if v != nil {
			k[key] = []string{strconv.Itoa(int(*v))}
		}
	}
	number("ec2:volumesize", e.VolumeSize)
	number("ec2:volumeiops", e.Iops)
	number("ec2:volumethroughput", e.Throughput)
	if e.VolumeType != "" {
		k["ec2:volumetype"] = []string{e.VolumeType}
	}
	k["ec2:encrypted"] = []string{yes(e.Encrypted != nil && *e.Encrypted)}
	if e.KmsKeyID != "" {
		k["ec2:kmskeyid"] = []string{e.KmsKeyID}
	}
	if e.SnapshotID != "" {
		k["ec2:parentsnapshot"] = []string{c.ec2ARN("snapshot", e.SnapshotID, "")}
	}
}

// volumeKeys checks what EC2 does, in the caller's name, with the keys of volumes. It does so when an instance is on its way:
// an instance whose key may not be used begins and ends. A direct launch is not looked at in this way.
//
// Source: EBS User Guide, "Permissions for Amazon EBS encryption", checked 2026-11.
func (c *call) volumeKeys(l *world.Launch) []check {
	var out []check
	for n := range l.Data.BlockDeviceMappings {
		e := l.Data.BlockDeviceMappings[n].Ebs
		if e == nil || e.KmsKeyID == "" {
			continue
		}
		for _, action := range []string{"kms:DescribeKey", "kms:GenerateDataKeyWithoutPlaintext", "kms:Decrypt", "kms:ReEncryptFrom", "kms:ReEncryptTo", "kms:CreateGrant"} {
			k := c.onKey(action, e.KmsKeyID)
			if k.same = "volume"; c.granted(k.action, k.resource, k.same) {
				continue
			}
			own := k.keys
			k.keys = func(keys iampolicy.Context) {
				own(keys)
				keys["kms:viaservice"] = []string{"ec2." + c.w.Region() + "." + partition.SuffixOf(c.w.Partition())}
				keys["kms:calleraccount"] = []string{c.caller.Account}
				if action == "kms:CreateGrant" {
					keys["kms:grantisforawsresource"] = []string{"true"}
				}
			}
			k.deny = func(*wire.Request, string) *wire.Error {
				return wire.Errorf(world.ClientError, "%s: Client error on launch", world.ClientError)
			}
			out = append(out, k)
		}
	}
	return out
}

// interfaces checks the network interfaces; all of a launch are alike but for the public address.
func (c *call) interfaces(out []check, l *world.Launch, same string) []check {
	subnet := ""
	if l.Subnet != nil {
		subnet = l.Subnet.ID
	}
	nics := l.Data.NetworkInterfaces
	if len(nics) == 0 {
		nics = []world.NetworkInterfaceSpec{{}}
	}
	seen := map[string]bool{}
	for n := range nics {
		public := ""
		if p := nics[n].AssociatePublicIPAddress; p != nil {
			public = yes(*p)
		}
		if seen[public] {
			continue
		}
		seen[public] = true
		out = c.launched(out, l, "network-interface", same, "/"+subnet+"/"+public, func(k iampolicy.Context) {
			if l.Subnet != nil {
				k["ec2:subnet"] = []string{c.resourceARN(l.Subnet)}
				k["ec2:vpc"] = []string{c.ec2ARN("vpc", l.Subnet.VPCID, "")}
			}
			if public != "" {
				k["ec2:associatepublicipaddress"] = []string{public}
			}
		})
	}
	return out
}

// used checks what a launch uses that exists already.
func (c *call) used(out []check, l *world.Launch, same string) []check {
	use := func(r *world.Resource, there bool) {
		if r == nil || c.granted(runInstances, c.resourceARN(r), same+yes(there)) {
			return
		}
		out = append(out, check{action: runInstances, resource: c.resourceARN(r), same: same + yes(there), keys: func(k iampolicy.Context) {
			describe(c, k, r)
			templateKeys(c, k, l, there)
		}})
	}
	use(l.Image, !l.Own)
	use(l.Subnet, !l.OwnSubnet)
	for _, g := range l.Groups {
		use(g, true)
	}
	use(l.Template, true)
	use(l.Group, true)
	use(l.Reservation, true)
	if l.Data.KeyName != "" {
		out = append(out, check{action: runInstances, resource: c.ec2ARN("key-pair", l.Data.KeyName, ""), same: same,
			keys: func(k iampolicy.Context) { templateKeys(c, k, l, true) }})
	}
	return out
}

// passed checks that a role may be handed to a service.
func (c *call) passed(role, service, forARN, same string) check {
	return check{action: passRole, resource: role, same: same, keys: func(k iampolicy.Context) {
		k["iam:passedtoservice"] = []string{service}
		if forARN != "" {
			k["iam:associatedresourcearn"] = []string{forARN}
		}
	}}
}

// ec2Service is the service principal of EC2, which China names in its own way.
func (c *call) ec2Service() string { return partition.Of(c.w.Region()).EC2Service() }

func tagsOf(specs []world.TagSpecification, kind string) map[string]string {
	var out map[string]string
	for _, s := range specs {
		if s.ResourceType != kind {
			continue
		}
		if out == nil {
			out = make(map[string]string, len(s.Tags))
		}
		for _, t := range s.Tags {
			out[t.Key] = t.Value
		}
	}
	return out
}

func allTags(specs []world.TagSpecification) map[string]string {
	out := map[string]string{}
	for _, s := range specs {
		for _, t := range s.Tags {
			out[t.Key] = t.Value
		}
	}
	return out
}
