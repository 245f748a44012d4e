package cloudformation

import (
	"slices"

	"github.com/kerf-sh/kerf/internal/awsmodel/cfn"
	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
)

var iamInstanceProfile = &kind{
	properties: map[string]*shape{"InstanceProfileName": text, "Path": text, "Roles": texts},
	required:   []string{"Roles"}, fixed: []string{"InstanceProfileName", "Path"}, readOnly: []string{"Arn"},
	name: "InstanceProfileName", nameLength: 128, iam: true,
	create: func(c *change) error {
		in := fields("InstanceProfileName", c.name, "Path", c.textOr("Path", "/"))
		var out struct {
			Profile struct {
				Arn string `xml:"Arn"`
			} `xml:"InstanceProfile"`
		}
		if err := c.query(wire.IAM, "CreateInstanceProfile", in, &out); err != nil {
			return err
		}
		c.physical, c.attributes = c.name, map[string]any{"Arn": out.Profile.Arn}
		return syncProfileRoles(c)
	},
	update: syncProfileRoles,
	remove: func(c *change) error {
		c.new = nil
		if err := syncProfileRoles(c); err != nil {
			return err
		}
		return unlessMissing(c.query(wire.IAM, "DeleteInstanceProfile", fields("InstanceProfileName", c.physical), nil))
	},
}

// syncProfileRoles takes out the role that is gone before it puts in the new one, for a profile holds one.
func syncProfileRoles(c *change) error {
	before, after := cfn.TextsOf(c.old["Roles"]), cfn.TextsOf(c.new["Roles"])
	for _, role := range before {
		if slices.Contains(after, role) {
			continue
		}
		in := fields("InstanceProfileName", c.physical, "RoleName", role)
		if err := unlessMissing(c.query(wire.IAM, "RemoveRoleFromInstanceProfile", in, nil)); err != nil {
			return err
		}
	}
	for _, role := range after {
		if slices.Contains(before, role) {
			continue
		}
		if err := c.query(wire.IAM, "AddRoleToInstanceProfile", fields("InstanceProfileName", c.physical, "RoleName", role), nil); err != nil {
			return err
		}
	}
	return nil
}

var iamServiceLinkedRole = &kind{
	properties: map[string]*shape{"AWSServiceName": text, "CustomSuffix": text, "Description": text},
	fixed:      []string{"AWSServiceName", "CustomSuffix"}, readOnly: []string{"RoleName"},
	create: func(c *change) error {
		in := fields("AWSServiceName", c.text("AWSServiceName")).set("CustomSuffix", c.new["CustomSuffix"]).set("Description", c.new["Description"])
		var out struct {
			Role struct {
				Name string `xml:"RoleName"`
			} `xml:"Role"`
		}
		if err := c.query(wire.IAM, "CreateServiceLinkedRole", in, &out); err != nil {
			return err
		}
		c.physical, c.attributes = out.Role.Name, map[string]any{"RoleName": out.Role.Name}
		return nil
	},
	update: func(c *change) error {
		return c.query(wire.IAM, "UpdateRole", fields("RoleName", c.physical, "Description", c.text("Description")), nil)
	},
	remove: func(c *change) error {
		return unlessMissing(c.query(wire.IAM, "DeleteServiceLinkedRole", fields("RoleName", c.physical), nil))
	},
}
