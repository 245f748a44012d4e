package cloudformation

import (
	"slices"

	"github.com/kerf-sh/kerf/internal/awsmodel/cfn"
	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
)

var inlinePolicy = members(map[string]*shape{"PolicyName": text, "PolicyDocument": free}, "PolicyName", "PolicyDocument")

var iamRole = &kind{
	properties: map[string]*shape{
		"RoleName": text, "Path": text, "AssumeRolePolicyDocument": free, "Description": text, "ManagedPolicyArns": texts,
		"MaxSessionDuration": integer, "PermissionsBoundary": text, "Policies": list(inlinePolicy), "Tags": tagList,
	},
	required: []string{"AssumeRolePolicyDocument"}, fixed: []string{"RoleName", "Path"}, readOnly: []string{"Arn", "RoleId"},
	name: "RoleName", nameLength: 64, tagged: true, iam: true,
	create: createRole, update: updateRole, remove: removeRole,
}

func createRole(c *change) error {
	in := fields("RoleName", c.name, "Path", c.textOr("Path", "/"), "AssumeRolePolicyDocument", document(c.new["AssumeRolePolicyDocument"]))
	in.set("Description", c.new["Description"]).set("MaxSessionDuration", c.new["MaxSessionDuration"])
	in.set("PermissionsBoundary", c.new["PermissionsBoundary"]).tags("Tags.member", c.newTags)
	var out struct {
		Role struct {
			Arn    string `xml:"Arn"`
			RoleID string `xml:"RoleId"`
		} `xml:"Role"`
	}
	if err := c.query(wire.IAM, "CreateRole", in, &out); err != nil {
		return err
	}
	c.physical = c.name
	c.attributes = map[string]any{"Arn": out.Role.Arn, "RoleId": out.Role.RoleID}
	return c.syncRolePolicies()
}

// syncRolePolicies attaches and puts what is new and takes away what is gone.
func (c *change) syncRolePolicies() error {
	before, after := cfn.TextsOf(c.old["ManagedPolicyArns"]), cfn.TextsOf(c.new["ManagedPolicyArns"])
	if err := c.attach(before, after, c.physical); err != nil {
		return err
	}
	old, new := inlinePolicies(c.old), inlinePolicies(c.new)
	for _, p := range new {
		if slices.Contains(old, p) {
			continue
		}
		in := fields("RoleName", c.physical, "PolicyName", p.key, "PolicyDocument", p.value)
		if err := c.query(wire.IAM, "PutRolePolicy", in, nil); err != nil {
			return err
		}
	}
	for _, p := range old {
		if slices.ContainsFunc(new, func(n tag) bool { return n.key == p.key }) {
			continue
		}
		if err := unlessMissing(c.query(wire.IAM, "DeleteRolePolicy", fields("RoleName", c.physical, "PolicyName", p.key), nil)); err != nil {
			return err
		}
	}
	return nil
}

// attach makes a role's attached policies those in after, as far as before has them.
func (c *change) attach(before, after []string, role string) error {
	for _, arn := range after {
		if slices.Contains(before, arn) {
			continue
		}
		if err := c.query(wire.IAM, "AttachRolePolicy", fields("RoleName", role, "PolicyArn", arn), nil); err != nil {
			return err
		}
	}
	for _, arn := range before {
		if slices.Contains(after, arn) {
			continue
		}
		if err := unlessMissing(c.query(wire.IAM, "DetachRolePolicy", fields("RoleName", role, "PolicyArn", arn), nil)); err != nil {
			return err
		}
	}
	return nil
}

// inlinePolicies are names and documents of the property Policies.
func inlinePolicies(properties map[string]any) []tag {
	var out []tag
	for _, item := range cfn.ListOf(properties["Policies"]) {
		if m, ok := item.(map[string]any); ok {
			name, _ := m["PolicyName"].(string)
			out = append(out, tag{name, document(m["PolicyDocument"])})
		}
	}
	return out
}

func updateRole(c *change) error {
	if c.differs("AssumeRolePolicyDocument") {
		in := fields("RoleName", c.physical, "PolicyDocument", document(c.new["AssumeRolePolicyDocument"]))
		if err := c.query(wire.IAM, "UpdateAssumeRolePolicy", in, nil); err != nil {
			return err
		}
	}
	if c.differs("Description", "MaxSessionDuration") {
		in := fields("RoleName", c.physical, "Description", c.text("Description"), "MaxSessionDuration", "3600")
		if err := c.query(wire.IAM, "UpdateRole", in.set("MaxSessionDuration", c.new["MaxSessionDuration"]), nil); err != nil {
			return err
		}
	}
	if c.differs("PermissionsBoundary") {
		operation, in := "PutRolePermissionsBoundary", fields("RoleName", c.physical, "PermissionsBoundary", c.text("PermissionsBoundary"))
		if c.text("PermissionsBoundary") == "" {
			operation, in = "DeleteRolePermissionsBoundary", fields("RoleName", c.physical)
		}
		if err := c.query(wire.IAM, operation, in, nil); err != nil {
			return err
		}
	}
	if err := c.syncRolePolicies(); err != nil {
		return err
	}
	return c.retag(func(tags []tag) error {
		return c.query(wire.IAM, "TagRole", fields("RoleName", c.physical).tags("Tags.member", tags), nil)
	}, func(keys []string) error {
		return c.query(wire.IAM, "UntagRole", fields("RoleName", c.physical).list("TagKeys.member", keys), nil)
	})
}

func removeRole(c *change) error {
	c.new = nil
	if err := c.syncRolePolicies(); err != nil {
		return err
	}
	return unlessMissing(c.query(wire.IAM, "DeleteRole", fields("RoleName", c.physical), nil))
}
