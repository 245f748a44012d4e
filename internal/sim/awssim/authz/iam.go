package authz

import (
	"strings"

	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
)

// IAM judges by the entity's ARN, path included. Making something with tags needs the permission to tag it as well; what
// is being made counts as having the tags that it is to get.
//
// Source: Service Authorization Reference for AWS IAM, checked 2026-11; that CreateInstanceProfile with tags asks for
// iam:TagInstanceProfile is seen in reports from the field.
func iamRules() map[string]rule {
	out := map[string]rule{
		"iam:CreateInstanceProfile": creating("iam:CreateInstanceProfile", "iam:TagInstanceProfile", "instance-profile", "InstanceProfileName"),
		"iam:CreateRole":            creating("iam:CreateRole", "iam:TagRole", "role", "RoleName"),
		"iam:CreatePolicy":          creating("iam:CreatePolicy", "iam:TagPolicy", "policy", "PolicyName"),
		"iam:ListInstanceProfiles":  on("iam:ListInstanceProfiles", func(c *call) string { return c.iamARN("instance-profile" + c.pathPrefix()) }),
		"iam:ListRoles":             on("iam:ListRoles", func(c *call) string { return c.iamARN("role" + c.pathPrefix()) }),
		"iam:ListPolicies":          listPolicies,
		"iam:SimulatePrincipalPolicy": on("iam:SimulatePrincipalPolicy", func(c *call) string {
			return c.text("PolicySourceArn")
		}),
		"iam:SimulateCustomPolicy":        anywhere("iam:SimulateCustomPolicy"),
		"iam:CreateServiceLinkedRole":     serviceLinkedRole,
		"iam:ListOpenIDConnectProviders":  anywhere("iam:ListOpenIDConnectProviders"),
		"iam:CreateOpenIDConnectProvider": createProvider,
		"iam:DeleteServiceLinkedRole":     on("iam:DeleteServiceLinkedRole", (*call).roleARN),
		"iam:GetServiceLinkedRoleDeletionStatus": on("iam:GetServiceLinkedRoleDeletionStatus", func(c *call) string {
			parts := strings.Split(c.text("DeletionTaskId"), "/") // task/aws-service-role/SERVICE/ROLE/ID
			return c.iamARN("role/" + strings.Join(parts[min(1, len(parts)-1):max(1, len(parts)-1)], "/"))
		}),
		passRole + " in AddRoleToInstanceProfile": func(c *call) []check {
			return []check{c.passed(c.roleARN(), c.ec2Service(), "", "")}
		},
	}
	each(out, "iam", onProfile, "GetInstanceProfile", "AddRoleToInstanceProfile", "RemoveRoleFromInstanceProfile",
		"DeleteInstanceProfile", "TagInstanceProfile", "UntagInstanceProfile", "ListInstanceProfileTags")
	each(out, "iam", onRole, "GetRole", "DeleteRole", "UpdateRole", "UpdateRoleDescription", "UpdateAssumeRolePolicy", "TagRole",
		"UntagRole", "ListRoleTags", "AttachRolePolicy", "DetachRolePolicy", "ListAttachedRolePolicies", "PutRolePolicy",
		"GetRolePolicy", "DeleteRolePolicy", "ListRolePolicies", "PutRolePermissionsBoundary", "DeleteRolePermissionsBoundary",
		"ListInstanceProfilesForRole")
	each(out, "iam", func(action string) rule {
		return on(action, func(c *call) string { return c.text("OpenIDConnectProviderArn") })
	}, "GetOpenIDConnectProvider", "DeleteOpenIDConnectProvider", "UpdateOpenIDConnectProviderThumbprint", "AddClientIDToOpenIDConnectProvider")
	each(out, "iam", onPolicy, "GetPolicy", "GetPolicyVersion", "CreatePolicyVersion", "SetDefaultPolicyVersion",
		"DeletePolicyVersion", "DeletePolicy", "ListPolicyVersions", "ListEntitiesForPolicy", "TagPolicy", "UntagPolicy",
		"ListPolicyTags")
	return out
}

func stsRules() map[string]rule {
	return map[string]rule{
		"sts:GetCallerIdentity": free, // whoever has credentials may ask whose they are
		// Trust policies are judged where roles are assumed, since they are what has to allow.
		"sts:AssumeRole":                 free,
		"sts:AssumeRoleWithWebIdentity":  free,
		"sts:DecodeAuthorizationMessage": anywhere("sts:DecodeAuthorizationMessage"),
	}
}

func (c *call) pathPrefix() string {
	if p := c.text("PathPrefix"); p != "" {
		return p
	}
	return "/"
}

// setEntity adds the keys of an entity of IAM that has tags.
func setEntity(k iampolicy.Context, tags map[string]string) {
	setTags(k, resourceTag, tags)
	setTags(k, iamResourceTag, tags)
}

// requestedTags are the tags that the call is to set, or the keys that it is to remove.
func (c *call) requestedTags(k iampolicy.Context) {
	setRequested(k, formTags(c.r.Form, "Tags.member"))
	for name, v := range c.r.Form {
		if strings.HasPrefix(name, "TagKeys.member.") {
			k["aws:tagkeys"] = append(k["aws:tagkeys"], v...)
		}
	}
}

func creating(action, tagging, kind, nameParameter string) rule {
	return func(c *call) []check {
		path := c.text("Path")
		if path == "" {
			path = "/"
		}
		arn := c.iamARN(kind + path + c.text(nameParameter))
		out := []check{{action: action, resource: arn, keys: c.roleKeys}}
		if tags := formTags(c.r.Form, "Tags.member"); len(tags) > 0 {
			out = append(out, check{action: tagging, resource: arn, keys: func(k iampolicy.Context) {
				c.roleKeys(k)
				setEntity(k, tags)
			}})
		}
		return out
	}
}

// roleKeys are the keys that changes of roles bring along.
func (c *call) roleKeys(k iampolicy.Context) {
	c.requestedTags(k)
	if b := c.text("PermissionsBoundary"); b != "" {
		k["iam:permissionsboundary"] = []string{b}
	}
	if p := c.text("PolicyArn"); p != "" {
		k["iam:policyarn"] = []string{p}
	}
}

func onProfile(action string) rule {
	return func(c *call) []check {
		name := c.text("InstanceProfileName")
		arn, shown := c.iamARN("instance-profile/"+name), "instance profile "+name
		var tags map[string]string
		if p, err := c.w.InstanceProfile(name); err == nil {
			arn, shown, tags = p.ARN, "", p.Tags
		}
		return []check{{action: action, resource: arn, shown: shown, keys: func(k iampolicy.Context) {
			setEntity(k, tags)
			c.requestedTags(k)
		}}}
	}
}

// roleARN is the ARN of the role that a call names; of one that does not exist, the one that it would have.
func (c *call) roleARN() string {
	name := c.text("RoleName")
	if r, err := c.w.Role(name); err == nil {
		return r.ARN
	}
	return c.iamARN("role/" + name)
}

func onRole(action string) rule {
	return func(c *call) []check {
		name := c.text("RoleName")
		arn, shown := c.roleARN(), "role "+name
		var tags map[string]string
		if r, err := c.w.Role(name); err == nil {
			shown, tags = "", r.Tags
		}
		return []check{{action: action, resource: arn, shown: shown, keys: func(k iampolicy.Context) {
			setEntity(k, tags)
			c.roleKeys(k)
		}}}
	}
}

func onPolicy(action string) rule {
	return func(c *call) []check {
		return []check{{action: action, resource: c.text("PolicyArn"), keys: c.requestedTags}}
	}
}

func listPolicies(c *call) []check {
	return []check{{action: "iam:ListPolicies", resource: "*", shown: "policy path " + c.pathPrefix()}}
}

func serviceLinkedRole(c *call) []check {
	service := c.text("AWSServiceName")
	return []check{{action: "iam:CreateServiceLinkedRole", resource: c.iamARN("role/aws-service-role/" + service + "/*"),
		keys: func(k iampolicy.Context) { k["iam:awsservicename"] = []string{service} }}}
}

func createProvider(c *call) []check {
	issuer := strings.TrimPrefix(c.text("Url"), "https://")
	return []check{{action: "iam:CreateOpenIDConnectProvider", resource: c.iamARN("oidc-provider/" + issuer), keys: c.requestedTags}}
}
