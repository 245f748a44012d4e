package cloudformation

import (
	"strconv"

	"github.com/kerf-sh/kerf/internal/awsmodel/cfn"
	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
)

var tagSpecification = list(members(map[string]*shape{"ResourceType": text, "Tags": tagList}, "ResourceType", "Tags"))

var ec2LaunchTemplate = &kind{
	properties: map[string]*shape{
		"LaunchTemplateName": text, "LaunchTemplateData": free, "VersionDescription": text, "TagSpecifications": tagSpecification,
	},
	required: []string{"LaunchTemplateData"}, fixed: []string{"LaunchTemplateName"},
	readOnly: []string{"LaunchTemplateId", "DefaultVersionNumber", "LatestVersionNumber"}, name: "LaunchTemplateName", nameLength: 128, tagged: true,
	create: func(c *change) error {
		in := fields("LaunchTemplateName", c.name).set("VersionDescription", c.new["VersionDescription"])
		flatten(in, "LaunchTemplateData", c.new["LaunchTemplateData"])
		var out struct {
			Template struct {
				ID string `xml:"launchTemplateId"`
			} `xml:"launchTemplate"`
		}
		if err := c.query(wire.EC2, "CreateLaunchTemplate", in, &out); err != nil {
			return err
		}
		c.physical = out.Template.ID
		c.attributes = map[string]any{"LaunchTemplateId": c.physical, "DefaultVersionNumber": "1", "LatestVersionNumber": "1"}
		return c.tagEC2("launch-template")
	},
	update: func(c *change) error {
		if c.differs("LaunchTemplateData", "VersionDescription") {
			in := fields("LaunchTemplateId", c.physical).set("VersionDescription", c.new["VersionDescription"])
			flatten(in, "LaunchTemplateData", c.new["LaunchTemplateData"])
			var out struct {
				Version struct {
					Number int64 `xml:"versionNumber"`
				} `xml:"launchTemplateVersion"`
			}
			if err := c.query(wire.EC2, "CreateLaunchTemplateVersion", in, &out); err != nil {
				return err
			}
			c.attributes["LatestVersionNumber"] = strconv.FormatInt(out.Version.Number, 10)
		}
		return c.tagEC2("launch-template")
	},
	remove: func(c *change) error {
		return unlessMissing(c.query(wire.EC2, "DeleteLaunchTemplate", fields("LaunchTemplateId", c.physical), nil))
	},
}

// tagEC2 sets the tags of a resource: those of the stack, and those that a tag specification of its type has.
func (c *change) tagEC2(resourceType string) error {
	add := func(tags []tag, properties map[string]any) []tag {
		all := tagMap(tags)
		for _, item := range cfn.ListOf(properties["TagSpecifications"]) {
			if m, ok := item.(map[string]any); ok && m["ResourceType"] == resourceType {
				for _, t := range tagsOf(m, nil) {
					all[t.key] = t.value
				}
			}
		}
		return sortedTags(all)
	}
	c.oldTags, c.newTags = add(c.oldTags, c.old), add(c.newTags, c.new)
	return c.retag(func(tags []tag) error { return c.world.TagByStack(c.physical, tagMap(tags), nil) },
		func(keys []string) error { return c.world.TagByStack(c.physical, nil, keys) })
}

// listMembers are the names that EC2's form parameters have for lists, where properties have the plural.
var listMembers = map[string]string{
	"BlockDeviceMappings": "BlockDeviceMapping", "SecurityGroupIds": "SecurityGroupId", "SecurityGroups": "SecurityGroup",
	"NetworkInterfaces": "NetworkInterface", "Groups": "SecurityGroupId", "TagSpecifications": "TagSpecification", "Tags": "Tag",
	"ElasticGpuSpecifications": "ElasticGpuSpecification", "LicenseSpecifications": "LicenseSpecification",
	"InstanceTypes": "InstanceType", "AllowedInstanceTypes": "AllowedInstanceType", "ExcludedInstanceTypes": "ExcludedInstanceType",
	"CpuManufacturers": "CpuManufacturer", "InstanceGenerations": "InstanceGeneration", "LocalStorageTypes": "LocalStorageType",
	"AcceleratorTypes": "AcceleratorType", "AcceleratorNames": "AcceleratorName", "AcceleratorManufacturers": "AcceleratorManufacturer",
	"Ipv6Addresses": "Ipv6Address", "PrivateIpAddresses": "PrivateIpAddress",
}

// flatten writes a nested property as form parameters: Data.NetworkInterface.1.SubnetId.
func flatten(in form, prefix string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, member := range v {
			if _, isList := member.([]any); isList && listMembers[k] != "" {
				k = listMembers[k]
			}
			flatten(in, prefix+"."+k, member)
		}
	case []any:
		for i, item := range v {
			flatten(in, prefix+"."+strconv.Itoa(i+1), item)
		}
	default:
		in.set(prefix, v)
	}
}

var securityRule = list(free)

var ec2SecurityGroup = &kind{
	properties: map[string]*shape{
		"GroupDescription": text, "GroupName": text, "VpcId": text, "SecurityGroupIngress": securityRule, "SecurityGroupEgress": securityRule,
		"Tags": tagList,
	},
	required: []string{"GroupDescription"}, fixed: []string{"GroupDescription", "GroupName", "VpcId"},
	readOnly: []string{"GroupId", "VpcId", "Id"}, name: "GroupName", nameLength: 255, tagged: true,
	create: func(c *change) error {
		vpc := c.text("VpcId")
		if vpc == "" {
			for _, v := range c.world.VPCs() {
				vpc = v.ID
				break
			}
		}
		g, err := c.world.AddSecurityGroup(vpc, c.name, c.text("GroupDescription"), tagMap(c.newTags))
		if err != nil {
			return err
		}
		c.physical, c.attributes = g.ID, map[string]any{"GroupId": g.ID, "Id": g.ID, "VpcId": vpc}
		return nil
	},
	update: func(c *change) error { // traffic is not simulated, so rules are only kept
		return c.tagEC2("security-group")
	},
	remove: func(c *change) error { return c.world.DeleteSecurityGroup(c.physical) },
}
