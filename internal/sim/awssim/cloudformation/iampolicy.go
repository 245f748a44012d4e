package cloudformation

import (
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/awsmodel/cfn"
	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
)

var iamManagedPolicy = &kind{
	properties: map[string]*shape{
		"ManagedPolicyName": text, "Path": text, "Description": text, "PolicyDocument": free, "Roles": texts, "Users": texts,
		"Groups": texts,
	},
	required: []string{"PolicyDocument"}, fixed: []string{"ManagedPolicyName", "Path", "Description"},
	readOnly: []string{"PolicyArn", "PolicyId", "DefaultVersionId"}, name: "ManagedPolicyName", nameLength: 128, iam: true,
	create: createManagedPolicy, update: updateManagedPolicy, remove: removeManagedPolicy,
}

func createManagedPolicy(c *change) error {
	in := fields("PolicyName", c.name, "Path", c.textOr("Path", "/"), "PolicyDocument", document(c.new["PolicyDocument"]))
	var out struct {
		Policy struct {
			Arn       string `xml:"Arn"`
			PolicyID  string `xml:"PolicyId"`
			VersionID string `xml:"DefaultVersionId"`
		} `xml:"Policy"`
	}
	if err := c.query(wire.IAM, "CreatePolicy", in.set("Description", c.new["Description"]), &out); err != nil {
		return err
	}
	c.physical = out.Policy.Arn
	c.attributes = map[string]any{"PolicyArn": out.Policy.Arn, "PolicyId": out.Policy.PolicyID, "DefaultVersionId": out.Policy.VersionID}
	return c.syncAttachments()
}

// attachments are the properties that name who a policy is attached to, with the word that the operations have for them.
var attachments = []tag{{"Roles", "Role"}, {"Users", "User"}, {"Groups", "Group"}}

// syncAttachments attaches the policy to whom it is to be attached to, and detaches it from the others.
func (c *change) syncAttachments() error {
	return c.eachHolder(func(holder, name string) error {
		return c.query(wire.IAM, "Attach"+holder+"Policy", fields(holder+"Name", name, "PolicyArn", c.physical), nil)
	}, func(holder, name string) error {
		return c.query(wire.IAM, "Detach"+holder+"Policy", fields(holder+"Name", name, "PolicyArn", c.physical), nil)
	})
}

// eachHolder calls add for the roles, users and groups that are new and drop for those that are gone.
func (c *change) eachHolder(add, drop func(holder, name string) error) error {
	for _, a := range attachments {
		before, after := cfn.TextsOf(c.old[a.key]), cfn.TextsOf(c.new[a.key])
		for _, name := range after {
			if slices.Contains(before, name) {
				continue
			}
			if err := add(a.value, name); err != nil {
				return err
			}
		}
		for _, name := range before {
			if slices.Contains(after, name) {
				continue
			}
			if err := unlessMissing(drop(a.value, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

type policyVersions struct {
	Versions []struct {
		ID      string `xml:"VersionId"`
		Default bool   `xml:"IsDefaultVersion"`
	} `xml:"Versions>member"`
}

// maxPolicyVersions is how many versions IAM keeps of a policy.
const maxPolicyVersions = 5

func updateManagedPolicy(c *change) error {
	if c.differs("PolicyDocument") {
		var have policyVersions
		if err := c.query(wire.IAM, "ListPolicyVersions", fields("PolicyArn", c.physical), &have); err != nil {
			return err
		}
		if len(have.Versions) >= maxPolicyVersions {
			if err := c.dropOldestVersion(have); err != nil {
				return err
			}
		}
		in := fields("PolicyArn", c.physical, "PolicyDocument", document(c.new["PolicyDocument"]), "SetAsDefault", "true")
		var out struct {
			Version struct {
				ID string `xml:"VersionId"`
			} `xml:"PolicyVersion"`
		}
		if err := c.query(wire.IAM, "CreatePolicyVersion", in, &out); err != nil {
			return err
		}
		c.attributes["DefaultVersionId"] = out.Version.ID
	}
	return c.syncAttachments()
}

func (c *change) dropOldestVersion(have policyVersions) error {
	oldest := ""
	for _, v := range have.Versions {
		// v2 is older than v10
		older := oldest == "" || len(v.ID) < len(oldest) || (len(v.ID) == len(oldest) && v.ID < oldest)
		if !v.Default && older {
			oldest = v.ID
		}
	}
	return c.query(wire.IAM, "DeletePolicyVersion", fields("PolicyArn", c.physical, "VersionId", oldest), nil)
}

func removeManagedPolicy(c *change) error {
	c.new = nil
	if err := c.syncAttachments(); err != nil {
		return err
	}
	var have policyVersions
	if err := c.query(wire.IAM, "ListPolicyVersions", fields("PolicyArn", c.physical), &have); err != nil {
		return unlessMissing(err)
	}
	for _, v := range have.Versions {
		if v.Default {
			continue
		}
		if err := c.query(wire.IAM, "DeletePolicyVersion", fields("PolicyArn", c.physical, "VersionId", v.ID), nil); err != nil {
			return err
		}
	}
	return unlessMissing(c.query(wire.IAM, "DeletePolicy", fields("PolicyArn", c.physical), nil))
}

var iamPolicy = &kind{
	properties: map[string]*shape{"PolicyName": text, "PolicyDocument": free, "Roles": texts, "Users": texts, "Groups": texts},
	required:   []string{"PolicyName", "PolicyDocument"}, name: "PolicyName", nameLength: 128, iam: true,
	create: func(c *change) error {
		c.physical = c.name
		return c.syncInline()
	},
	update: func(c *change) error {
		c.physical = c.text("PolicyName")
		return c.syncInline()
	},
	remove: func(c *change) error {
		c.new = nil
		return c.syncInline()
	},
}

// syncInline puts a policy into those that are to have it, and takes it from the others.
func (c *change) syncInline() error {
	old := c.old
	oldName, _ := old["PolicyName"].(string)
	drop := func(holder, name string) error {
		return c.query(wire.IAM, "Delete"+holder+"Policy", fields(holder+"Name", name, "PolicyName", oldName), nil)
	}
	renamed := oldName != "" && c.text("PolicyName") != oldName && c.new != nil
	if c.differs("PolicyDocument", "PolicyName") && c.new != nil {
		c.old = nil // everyone gets it anew
	}
	err := c.eachHolder(func(holder, name string) error {
		in := fields(holder+"Name", name, "PolicyName", c.text("PolicyName"), "PolicyDocument", document(c.new["PolicyDocument"]))
		return c.query(wire.IAM, "Put"+holder+"Policy", in, nil)
	}, drop)
	c.old = old
	if err != nil || c.new == nil {
		return err
	}
	for _, a := range attachments {
		for _, name := range cfn.TextsOf(old[a.key]) {
			if !renamed && slices.Contains(cfn.TextsOf(c.new[a.key]), name) {
				continue
			}
			if err := unlessMissing(drop(a.value, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

var iamRolePolicy = &kind{
	properties: map[string]*shape{"PolicyName": text, "PolicyDocument": free, "RoleName": text},
	required:   []string{"PolicyName", "RoleName"}, fixed: []string{"PolicyName", "RoleName"}, iam: true,
	create: func(c *change) error {
		if err := putRolePolicy(c); err != nil {
			return err
		}
		c.physical = c.text("PolicyName") + "|" + c.text("RoleName")
		return nil
	},
	update: putRolePolicy,
	remove: func(c *change) error {
		policy, role, _ := strings.Cut(c.physical, "|")
		return unlessMissing(c.query(wire.IAM, "DeleteRolePolicy", fields("RoleName", role, "PolicyName", policy), nil))
	},
}

func putRolePolicy(c *change) error {
	in := fields("RoleName", c.text("RoleName"), "PolicyName", c.text("PolicyName"), "PolicyDocument", document(c.new["PolicyDocument"]))
	return c.query(wire.IAM, "PutRolePolicy", in, nil)
}
